import { BUILD_EXITS } from '../../../contracts/builds/pod.ts'
import { runPart } from './part.ts'
import { placesBelow } from './places.ts'

// One part of a build, in a container of its own; below a folder, where a test names one.
const [, , name, root = '/'] = process.argv
process.on('uncaughtException', (error) => {
  console.error(error)
  process.exit(BUILD_EXITS.builderFailed)
})
process.on('SIGTERM', () => process.exit(143))
process.exit(await runPart(name, placesBelow(root)))
