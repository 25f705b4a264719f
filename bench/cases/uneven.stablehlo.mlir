// a dim of 63 is split over 4 devices
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<63xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<63xf32> {
    %o = stablehlo.exponential %a : tensor<63xf32>
    return %o : tensor<63xf32>
  }
}
