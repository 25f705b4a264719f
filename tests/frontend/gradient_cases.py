"""Scalar functions, at least one for each kind of op that has a derivative."""

from __future__ import annotations

from tests.frontend.gradients import Case

_UNARY = (
    *("abs", "negate", "exp", "expm1", "logistic", "tanh", "sine", "cosine", "tan", "cbrt"),
    *("sign", "floor", "ceil", "erf"),
)
_POSITIVE = ["log", "log1p", "sqrt", "rsqrt"]

ELEMENTWISE = [
    *(Case(each, "x f64 3 4", f"(sum (multiply ({each} x) (add x 1)))") for each in _UNARY),
    *(Case(each, "x f64 3 4", f"(sum (multiply ({each} x) x))", positive=True) for each in _POSITIVE),
    *(
        Case(each, "x f64 3 4; y f64 4", f"(sum (multiply ({each} x y) (tanh x)))")
        for each in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "atan2")
    ),
    Case("square", "x f64 3", "(sum (tanh (multiply x x)))"),
    Case("cube", "x f64 3", "(sum (multiply x (multiply x x)))"),
    Case("power", "x f64 3 4; y f64 3 4", "(sum (power x y))", positive=True),
    Case("power with a number", "x f64 3 4", "(sum (power x 3.0))"),
    Case("power of a number", "x f64 3 4", "(sum (power 0.9 x))"),
    Case("remainder", "x f64 3 4; y f64 3 4", "(sum (multiply (remainder x y) x))", positive=True),
    Case("ties of maximum", "x f64 4 5; y f64 4 5", "(sum (multiply (maximum x y) (add x 3)))", ties=True),
    Case("ties of minimum", "x f64 4 5; y f64 4 5", "(sum (multiply (minimum x y) (add x 3)))", ties=True),
    Case("ties of relu", "x f64 4 5", "(sum (multiply (relu x) (add x 3)))", ties=True),
    Case("clamp", "a f64; x f64 3 4; b f64", "(sum (multiply (clamp a x (add b 1)) x))"),
    Case("clamp by tensors", "a f64 3 4; x f64 3 4; b f64 3 4", "(sum (tanh (clamp a x (add a (abs b)))))"),
    Case("ties of clamp", "x f64 4 5", "(sum (multiply (clamp -0.5 x 0.5) (add x 3)))", ties=True),
    Case("select", "p bool 3 4; x f64 3 4; y f64 3 4", "(sum (multiply (select p x y) (tanh x)))"),
    Case("select by a scalar", "p bool; x f64 3 4; y f64 3 4", "(sum (tanh (select p x y)))"),
    Case("convert", "x f64 3 4", "(sum (tanh (convert (sine (convert x f32)) f64)))"),
    Case("through whole numbers", "x f64 3 4", "(sum (multiply x (convert (convert x i32) f64)))"),
    Case("stop_gradient", "x f64 3 4", "(sum (multiply x (stop_gradient (tanh x))))"),
    Case("no influence", "x f64 3 4; y f64 2", "(sum (tanh x))"),
    Case("only flat", "x f64 3 4", "(sum (floor x))"),
    Case("the loss itself", "x f64", "(let ((y x)) y)"),
    Case("a shared cotangent", "x f64 3; y f64 3", "(sum (tanh (add x y)))"),
]

SHAPING = [
    Case("broadcast", "x f64 3", "(sum (tanh (multiply (broadcast x [2 3 4] [1]) 0.5)))"),
    Case("broadcast and turn", "x f64 3 2", "(sum (tanh (broadcast x [2 5 3] [2 0])))"),
    Case("broadcast of size 1", "x f64 1 3", "(sum (tanh (broadcast x [4 3] [0 1])))"),
    Case("broadcast of size 1, turned", "x f64 3 1", "(sum (tanh (broadcast x [4 5 3] [2 0])))"),
    Case("transpose", "x f64 2 3 4", "(sum (multiply (transpose x [2 0 1]) (iota f64 [4 2 3] 0)))"),
    Case("reshape", "x f64 2 6", "(sum (multiply (reshape x [3 4]) (iota f64 [3 4] 0)))"),
    Case("reverse", "x f64 2 6", "(sum (multiply (reverse x [1]) (iota f64 [2 6] 1)))"),
    Case("slice", "x f64 5 6", "(sum (tanh (slice x [1 0] [4 6])))"),
    Case("slice with strides", "x f64 7 6", "(sum (tanh (slice x [1 0] [7 5] :strides [2 3])))"),
    Case("empty slice", "x f64 5 6", "(add (sum (slice x [1 0] [1 6])) (sum (tanh x)))"),
    Case(
        "pad",
        "x f64 3 2; v f64",
        "(sum (multiply (pad x v [1 0] [2 1] [1 2]) (iota f64 [8 5] 0)))",
    ),
    Case(
        "negative pad",
        "x f64 5 4; v f64",
        "(sum (multiply (pad x v [-1 2] [1 -1] [1 0]) (iota f64 [9 5] 0)))",
    ),
    Case(
        "concatenate",
        "x f64 2 3; y f64 2 1",
        "(sum (tanh (multiply (concatenate x y 1) (iota f64 [2 4] 1))))",
    ),
    Case(
        "concatenate with itself",
        "x f64 2 3",
        "(sum (tanh (multiply (concatenate x x 0) (iota f64 [4 3] 0))))",
    ),
    Case("dynamic_slice", "x f64 5 4; i i32; j i32", "(sum (tanh (dynamic_slice x [3 2] i j)))", (0, 6)),
    Case(
        "dynamic_update_slice",
        "x f64 5 4; y f64 2 3; i i32; j i32",
        "(sum (tanh (multiply (dynamic_update_slice x y i j) (iota f64 [5 4] 0))))",
        (0, 6),
    ),
    Case("optimization_barrier", "x f64 3", "(sum (tanh (optimization_barrier x)))"),
]

REDUCTION = [
    Case("sum of some dims", "x f64 3 4 2", "(sum (tanh (sum x [0 2])))"),
    Case("mean", "x f64 3 4", "(sum (tanh (mean x [1])))"),
    Case("max", "x f64 3 4 2", "(sum (tanh (reduce_max x [0 2])))"),
    Case("ties of max", "x f64 3 4 5", "(sum (multiply (reduce_max x [0 2]) (iota f64 [4] 0)))", ties=True),
    Case("ties of min", "x f64 3 4 5", "(sum (multiply (reduce_min x [1]) 3.0))", ties=True),
    Case("prod", "x f64 3 4", "(sum (tanh (prod x [1])))"),
    Case("prod of some dims", "x f64 2 3 2", "(sum (tanh (prod x [0 2])))"),
    Case(
        "prod beside zeros",
        "x f64 4 3",
        "(sum (multiply (prod x [1]) (add 1.0 (iota f64 [4] 0))))",
        ties=True,
    ),
    Case("cumsum", "x f64 3 4", "(sum (tanh (cumsum x 1)))"),
    Case("reverse cumsum", "x f64 3 4", "(sum (tanh (cumsum x 0 :reverse true)))"),
    Case("cumprod", "x f64 5 2", "(sum (tanh (cumprod x 0)))"),
    Case("reverse cumprod", "x f64 2 5", "(sum (tanh (cumprod x 1 :reverse true)))"),
    Case("cumprod beside zeros", "x f64 4 6", "(sum (multiply (cumprod x 1) (iota f64 [4 6] 1)))", ties=True),
    Case("cummax", "x f64 3 7", "(sum (tanh (cummax x 1)))"),
    Case("reverse cummin", "x f64 7 3", "(sum (tanh (cummin x 0 :reverse true)))"),
    Case("sort", "x f64 5 3", "(sum (multiply (tanh (sort x 0)) (iota f64 [5 3] 0)))"),
    Case(
        "sort with others",
        "x f64 3 5; y f64 3 5",
        "(let (((a b) (sort x y 1))) (sum (multiply (tanh a) (multiply b (iota f64 [3 5] 1)))))",
    ),
    Case(
        "what a sort carries",
        "x i32 3 9; y f64 3 9",
        "(let (((a b) (sort x y 1))) (sum (multiply b (iota f64 [3 9] 1))))",
    ),
    Case(
        "top_k", "x f64 2 3 6", "(let (((a b) (top_k x 2))) (sum (multiply (tanh a) (iota f64 [2 3 2] 2))))"
    ),
    Case("top_k of one dim", "x f64 6", "(let (((a b) (top_k x 3))) (sum (tanh a)))"),
    Case("argmax", "x f64 3 4", "(sum (multiply x (convert (expand_dims (argmax x 1) 1) f64)))"),
]

_CONVOLUTION = "(sum (multiply (tanh (convolution x k {})) 0.5))"
CONTRACTION = [
    Case("matmul", "a f64 3 4; b f64 4 5", "(sum (tanh (matmul a b)))"),
    Case("matmul of a batch", "a f64 2 3 4; b f64 2 4 5", "(sum (tanh (matmul a b)))"),
    Case("matmul by a matrix", "a f64 2 3 4; b f64 4 5", "(sum (tanh (matmul a b)))"),
    Case("matmul of a matrix", "a f64 3 4; b f64 2 4 5", "(sum (tanh (matmul a b)))"),
    Case("inner product", "a f64 4; b f64 4", "(tanh (matmul a b))"),
    Case("a matrix with itself", "a f64 4 4", "(sum (tanh (matmul a a)))"),
    Case("outer product", "a f64 4; b f64 3", '(sum (tanh (einsum "a,b->ab" a b)))'),
    Case("heads", "x f64 2 3 4; w f64 4 2 3", '(sum (tanh (einsum "bsd,dhe->bshe" x w)))'),
    Case("out of heads", "x f64 2 3 2 3; w f64 2 3 4", '(sum (tanh (einsum "bshe,hed->bsd" x w)))'),
    Case("scores", "q f64 2 3 2 4; k f64 2 5 2 4", '(sum (tanh (einsum "bshe,bthe->bhst" q k)))'),
    Case("turned", "a f64 2 3 4; b f64 4 5 2", '(sum (tanh (einsum "abc,cda->dab" a b)))'),
    Case("crossed", "a f64 2 3 4; b f64 4 2 5", '(sum (tanh (einsum "abc,cad->bd" a b)))'),
    Case("of three", "a f64 2 3; b f64 3 4; c f64 3", '(sum (tanh (einsum "ab,bc,b->ca" a b c)))'),
    *(
        Case(f"convolution {options}", f"x f64 {image}; k f64 {kernel}", _CONVOLUTION.format(options))
        for image, kernel, options in [
            ("2 3 6 5", "4 3 3 2", ""),
            ("2 3 7 6", "4 3 3 2", ":window_strides [2 3] :padding [1 2 0 1]"),
            ("2 3 5 5", "4 3 2 2", ":lhs_dilation [2 1] :rhs_dilation [1 2] :padding [1 0 2 1]"),
            ("2 3 7 6", "4 3 3 2", ":window_strides [3 2] :window_reversal [1 0]"),
            ("2 4 5 5", "6 2 3 3", ":feature_group_count 2 :padding [1 1 1 1]"),
            ("2 4 5 5", "4 1 3 3", ":feature_group_count 4 :window_strides [2 2]"),
            ("4 3 5 5", "6 3 3 3", ":batch_group_count 2 :padding [1 1 0 0]"),
        ]
    ),
    Case(
        "convolution of images last",
        "x f64 2 6 5 3; k f64 3 2 3 4",
        _CONVOLUTION.format(
            ":input_feature_dimension 3 :input_spatial_dimensions [1 2] :output_feature_dimension 3 "
            ":output_spatial_dimensions [1 2] :kernel_output_feature_dimension 3 "
            ":kernel_input_feature_dimension 2 :kernel_spatial_dimensions [0 1] :padding [-1 2 1 1]"
        ),
    ),
]

INDEXING = [
    Case("take", "x f64 5 3; i i32 2 4", "(sum (multiply (tanh (take x i)) (iota f64 [2 4 3] 1)))", (0, 5)),
    Case("take out of bounds", "x f64 5 3; i i32 6", "(sum (tanh (take x i)))", (-3, 9)),
    Case("take of another dim", "x f64 3 5 2; i i32 4", "(sum (tanh (take x i :dim 1)))", (0, 5)),
    Case(
        "gather of windows",
        "x f64 6 5 3; i i32 4 2",
        "(sum (tanh (gather x i :offset_dims [1 2] :collapsed_slice_dims [0] :start_index_map [0 1] "
        ":index_vector_dim 1 :slice_sizes [1 2 3])))",
        (-1, 7),
    ),
    Case(
        "gather in batches",
        "x f64 3 5; i i32 3 4",
        "(sum (tanh (gather x i :offset_dims [] :collapsed_slice_dims [1] :operand_batching_dims [0] "
        ":start_indices_batching_dims [0] :start_index_map [1] :index_vector_dim 2 :slice_sizes [1 1])))",
        (0, 5),
    ),
    Case("scatter_add", "x f64 5 3; i i32 4; u f64 4 3", "(sum (tanh (scatter_add x i u)))", (-2, 7)),
    Case("scatter_set", "x f64 5 3; i i32 4; u f64 4 3", "(sum (tanh (scatter_set x i u)))", (-2, 7)),
    Case("one_hot", "x f64 4 6; i i32 4", "(sum (tanh (multiply x (one_hot i 6 f64))))", (0, 6)),
]

LIBRARY = [
    Case("gelu", "x f64 3 4", "(sum (gelu x))"),
    Case("exact gelu", "x f64 3 4", "(sum (gelu x :exact true))"),
    Case("silu", "x f64 3 4", "(sum (silu x))"),
    Case("softplus", "x f64 3 4", "(sum (softplus x))"),
    Case("softmax", "x f64 3 4", "(sum (multiply (softmax x) (iota f64 [3 4] 1)))"),
    Case("log_softmax", "x f64 3 4", "(sum (multiply (log_softmax x) (iota f64 [3 4] 1)))"),
    Case("layer_norm", "x f64 2 3 4; g f64 4; b f64 4", "(sum (tanh (layer_norm x g b)))"),
    Case("rms_norm", "x f64 2 3 4; g f64 4", "(sum (tanh (rms_norm x g)))"),
    Case("cross_entropy", "x f64 2 3 5; t i32 2 3", "(cross_entropy x t)", (0, 5)),
    Case(
        "weighted cross_entropy",
        "x f64 2 3 5; t i32 2 3; w f64 2 3",
        "(cross_entropy x t w)",
        (0, 5),
        positive=True,
    ),
    Case("attention", "q f64 1 3 2 2; k f64 1 3 1 2; v f64 1 3 1 2", "(sum (tanh (attention q k v)))"),
    Case(
        "a language model",
        "ids i32 2 3; next i32 2 3; table f64 5 4; g1 f64 4; b1 f64 4; wq f64 4 2 2; wk f64 4 2 2; "
        "wv f64 4 2 2; wo f64 2 2 4; g2 f64 4; b2 f64 4; up f64 4 8; down f64 8 4",
        "(let ((x (embedding table ids)) (y (transformer_block x g1 b1 wq wk wv wo g2 b2 up down))) "
        '(cross_entropy (einsum "bsd,vd->bsv" y table) next))',
        (0, 5),
    ),
]

CASES = [*ELEMENTWISE, *SHAPING, *REDUCTION, *CONTRACTION, *INDEXING, *LIBRARY]
