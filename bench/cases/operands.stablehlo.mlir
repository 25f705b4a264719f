// the operands of `add` are split on different dims
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}) -> tensor<8x8xf32> {
    %p = stablehlo.exponential %a : tensor<8x8xf32>
    %q = stablehlo.exponential %b : tensor<8x8xf32>
    %o = stablehlo.add %p, %q : tensor<8x8xf32>
    return %o : tensor<8x8xf32>
  }
}
