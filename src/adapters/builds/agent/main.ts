import { BUILD_EXIT_CODES } from '../../../contracts/builds/pod.ts'
import { buildPathsUnder } from './buildPaths.ts'
import { runPart } from './part.ts'

// Runs one part of a build, each in its own container. Tests pass a folder as the root.
const [, , name, root = '/'] = process.argv
process.on('uncaughtException', (error) => {
  console.error(error)
  process.exit(BUILD_EXIT_CODES.builderFailed)
})
process.on('SIGTERM', () => process.exit(143))
process.exit(await runPart(name, buildPathsUnder(root)))
