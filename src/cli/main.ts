import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { deriveCollections } from './collections.ts'
import type { Terminal } from './command.ts'
import { clientPathsFor, type Environment } from './files.ts'
import { run } from './run.ts'

/** Returns the command that opens a URL; undefined if no browser is likely. */
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
    outBytes: (bytes) => void process.stdout.write(bytes),
    err: (line) => void process.stderr.write(line),
    isTerminal: process.stdout.isTTY === true,
    readInput: () => text(process.stdin),
    readPassword: async (prompt) =>
      process.stdin.isTTY === true ? readHidden(prompt) : ((await text(process.stdin)).split(/\r?\n/)[0] ?? ''),
    ask: process.stdin.isTTY === true ? askPerson : undefined,
    openBrowser:
      browser === undefined
        ? undefined
        : (url) => {
            const child = spawn(browser, [url], { stdio: 'ignore', detached: true })
            // The URL is also printed.
            child.on('error', () => undefined)
            child.unref()
          },
  }
}

function askPerson(question: string): Promise<string> {
  const prompts = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise((resolve) => {
    prompts.question(question, (answer) => {
      prompts.close()
      resolve(answer)
    })
  })
}

function readHidden(prompt: string): Promise<string> {
  process.stderr.write(prompt)
  const muted = new Writable({ write: (_chunk, _encoding, done) => done() })
  const hiddenPrompt = createInterface({ input: process.stdin, output: muted, terminal: true })
  // In raw mode, Ctrl-C sends no signal.
  hiddenPrompt.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  return new Promise((resolve) => {
    hiddenPrompt.question('', (answer) => {
      hiddenPrompt.close()
      process.stderr.write('\n')
      resolve(answer)
    })
  })
}

const interruption = new AbortController()
process.once('SIGINT', () => {
  interruption.abort(new Error('Interrupted.'))
  // A second interrupt exits at once.
  process.once('SIGINT', () => process.exit(130))
})
// A closed pipe (`| head`) is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  paths: clientPathsFor(process.env),
  program: [process.execPath, fileURLToPath(new URL('../../bin/freehold.mjs', import.meta.url))],
  terminal: terminalOf(process.env),
  collections: deriveCollections(),
  signal: interruption.signal,
  now: Date.now,
})
