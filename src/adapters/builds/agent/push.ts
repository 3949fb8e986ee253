import { BuildRefusal } from '../../../contracts/builds/files.ts'
import type { BuildWord } from '../../../contracts/builds/pod.ts'
import { ran } from './commands.ts'
import type { Places } from './places.ts'
import { accountFor, flagsOf } from './registry.ts'

/** The third part: pushes the image of the second and reports its digest. It runs nothing of the source. */
export async function pushImage(places: Places): Promise<BuildWord> {
  const { image, cache, settings } = places.readOrder()
  const environment = await accountFor(places, 'push')
  const flags = flagsOf(settings)
  console.log(`Pushing ${image}`)
  const pushed = await ran('crane', ['push', ...flags, places.image, image], { environment })
  const digest = /@(sha256:[0-9a-f]{64})\s*$/.exec(pushed.output)?.[1]
  if (pushed.code !== 0 || digest === undefined) {
    throw new BuildRefusal('PushFailed', 'The image could not be pushed to the registry: see the log of the build.')
  }
  // The image is pushed: a failure to push the cache only makes the next build slower.
  const kept = await ran('crane', ['push', ...flags, places.cache, cache], { environment })
  console.log(kept.code === 0 ? `Pushed ${digest}` : `Pushed ${digest}, without the cache of this build`)
  return { digest }
}
