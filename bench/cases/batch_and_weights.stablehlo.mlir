// rows of the activation and columns of the weight claim one axis in `matmul`
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %b: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}) -> tensor<8x256xf32> {
    %o = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
    return %o : tensor<8x256xf32>
  }
}
