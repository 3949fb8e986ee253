import { fileURLToPath } from 'node:url'
import { deriveCollections } from './collections.ts'
import { EXIT } from './failure.ts'
import { clientPathsFor } from './files.ts'
import { run } from './run.ts'
import { terminalOf } from './terminal.ts'

const interruption = new AbortController()
process.once('SIGINT', () => {
  interruption.abort(new Error('Interrupted.'))
  // A second interrupt exits at once.
  process.once('SIGINT', () => process.exit(EXIT.interrupted))
})
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // A closed pipe (`| head`) is not a failure.
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    if (stream === process.stdout) process.stderr.write(`The output cannot be written. (${error.message})\n`)
    process.exit(EXIT.local)
  })
}

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  paths: clientPathsFor(process.env),
  program: [process.execPath, fileURLToPath(new URL('../../bin/freehold.mjs', import.meta.url))],
  terminal: terminalOf(process.env, process, interruption),
  collections: deriveCollections(),
  signal: interruption.signal,
  now: Date.now,
})
