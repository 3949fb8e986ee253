import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { collectionsOf } from './collections.ts'
import type { Terminal } from './command.ts'
import { type Environment, placesIn } from './files.ts'
import { run } from './run.ts'

/** The command that opens an address, or undefined if none can be expected. */
function browserOf(environment: Environment): string | undefined {
  if (process.platform === 'darwin') return 'open'
  if (process.platform === 'win32') return undefined
  const isRemote = environment.SSH_CONNECTION !== undefined && environment.SSH_CONNECTION !== ''
  const hasDisplay = Boolean(environment.DISPLAY || environment.WAYLAND_DISPLAY)
  if (environment.BROWSER) return environment.BROWSER
  return hasDisplay && !isRemote ? 'xdg-open' : undefined
}

function terminalOf(environment: Environment): Terminal {
  const browser = browserOf(environment)
  return {
    out: (line) => void process.stdout.write(line),
    err: (line) => void process.stderr.write(line),
    isTerminal: process.stdout.isTTY === true,
    readInput: () => text(process.stdin),
    openBrowser:
      browser === undefined
        ? undefined
        : (url) => {
            const child = spawn(browser, [url], { stdio: 'ignore', detached: true })
            // The address is on the terminal as well.
            child.on('error', () => undefined)
            child.unref()
          },
  }
}

const interruption = new AbortController()
process.once('SIGINT', () => {
  interruption.abort(new Error('Interrupted.'))
  // Whoever asks twice does not want to wait for anything.
  process.once('SIGINT', () => process.exit(130))
})
// A reader that has seen enough (`| head`) is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  places: placesIn(process.env),
  program: [process.execPath, fileURLToPath(new URL('../../bin/freehold.mjs', import.meta.url))],
  terminal: terminalOf(process.env),
  collections: collectionsOf(),
  signal: interruption.signal,
  now: Date.now,
})
