import { BuildRefusal } from '../../../contracts/builds/files.ts'
import type { TerminationMessage } from '../../../contracts/builds/pod.ts'
import type { BuildPaths } from './buildPaths.ts'
import { runProgram } from './commands.ts'
import { registryClientEnvironment, registryClientFlags } from './registry.ts'

/** The third part: pushes the image of the second and reports its digest. It runs nothing of the source. */
export async function pushImage(places: BuildPaths): Promise<TerminationMessage> {
  const { image, cache, settings } = places.readOrder()
  const environment = await registryClientEnvironment(places, 'push')
  const flags = registryClientFlags(settings)
  console.log(`Pushing ${image}`)
  const pushed = await runProgram('crane', ['push', ...flags, places.image, image], { environment })
  const digest = /@(sha256:[0-9a-f]{64})\s*$/.exec(pushed.output)?.[1]
  if (pushed.code !== 0 || digest === undefined) {
    throw new BuildRefusal('PushFailed', 'The image could not be pushed to the registry: see the log of the build.')
  }
  // The image is pushed: a failure to push the cache only makes the next build slower.
  const kept = await runProgram('crane', ['push', ...flags, places.cache, cache], { environment })
  console.log(kept.code === 0 ? `Pushed ${digest}` : `Pushed ${digest}, without the cache of this build`)
  return { digest }
}
