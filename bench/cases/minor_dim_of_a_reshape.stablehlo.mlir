// a reshape joins a whole dim and a split one behind it
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}) -> tensor<16xf32> {
    %r = stablehlo.reshape %a : (tensor<2x8xf32>) -> tensor<16xf32>
    %o = stablehlo.exponential %r : tensor<16xf32>
    return %o : tensor<16xf32>
  }
}
