// a dim of 63 is split over 4 devices
shard.grid @mesh(shape = 4)
func.func @f(%a: tensor<63xf32>) -> tensor<63xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %as = shard.shard %a to %s : tensor<63xf32>
  %o = tosa.exp %as : (tensor<63xf32>) -> tensor<63xf32>
  return %o : tensor<63xf32>
}
