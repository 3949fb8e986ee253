import { BUILD_EXITS } from '../../../contracts/builds/pod.ts'
import { runPart } from './part.ts'
import { placesBelow } from './places.ts'

// Runs one part of a build, each in its own container. Tests pass a folder as the root.
const [, , name, root = '/'] = process.argv
process.on('uncaughtException', (error) => {
  console.error(error)
  process.exit(BUILD_EXITS.builderFailed)
})
process.on('SIGTERM', () => process.exit(143))
process.exit(await runPart(name, placesBelow(root)))
