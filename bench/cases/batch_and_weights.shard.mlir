// rows of the activation and columns of the weight claim one axis in `matmul`
shard.grid @mesh(shape = 4)
func.func @f(%a: tensor<1x8x64xf32>, %b: tensor<1x64x256xf32>) -> tensor<1x8x256xf32> {
  %s = shard.sharding @mesh split_axes = [[], [0]] : !shard.sharding
  %t = shard.sharding @mesh split_axes = [[], [], [0]] : !shard.sharding
  %as = shard.shard %a to %s : tensor<1x8x64xf32>
  %bs = shard.shard %b to %t : tensor<1x64x256xf32>
  %z = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %o = tosa.matmul %as, %bs, %z, %z : (tensor<1x8x64xf32>, tensor<1x64x256xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x256xf32>
  return %o : tensor<1x8x256xf32>
}
