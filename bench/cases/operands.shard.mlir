// the operands of `add` are split on different dims
shard.grid @mesh(shape = 4)
func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @mesh split_axes = [[], [0]] : !shard.sharding
  %as = shard.shard %a to %s : tensor<8x8xf32>
  %bs = shard.shard %b to %t : tensor<8x8xf32>
  %p = tosa.exp %as : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = tosa.exp %bs : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %o = tosa.add %p, %q : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %o : tensor<8x8xf32>
}
