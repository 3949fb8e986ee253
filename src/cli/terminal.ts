import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { addAbortSignal, type Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Terminal } from './command.ts'
import type { Environment } from './files.ts'

/** The three streams of a process. */
export type Streams = {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly isTTY?: boolean }
  readonly stderr: Writable
}

/**
 * Reads and writes as people expect of a terminal: Ctrl-C ends whatever is read, and Ctrl-D is an empty answer.
 *
 * @param interruption aborted by Ctrl-C, also from outside
 */
export function terminalOf(
  environment: Environment,
  { stdin, stdout, stderr }: Streams,
  interruption: AbortController,
): Terminal {
  const { signal } = interruption
  const readAll = () => text(addAbortSignal(signal, stdin))
  const prompt = (question: string, output: Writable) => readLine(question, { stdin, output, interruption })
  const readHidden = async (question: string) => {
    stderr.write(question)
    try {
      return await prompt('', new Writable({ write: (_chunk, _encoding, done) => done() }))
    } finally {
      stderr.write('\n')
    }
  }
  return {
    out: (line) => void stdout.write(line),
    outBytes: (bytes) => void stdout.write(bytes),
    err: (line) => void stderr.write(line),
    isTerminal: stdout.isTTY === true,
    readInput: readAll,
    readPassword: async (question) =>
      stdin.isTTY === true ? readHidden(question) : ((await readAll()).split(/\r?\n/)[0] ?? ''),
    ask: stdin.isTTY === true ? (question) => prompt(question, stderr) : undefined,
    openBrowser: openerOf(browserOf(environment)),
  }
}

function readLine(
  question: string,
  { stdin, output, interruption }: { stdin: Readable; output: Writable; interruption: AbortController },
): Promise<string> {
  const { signal } = interruption
  const lines = createInterface({ input: stdin, output, terminal: true })
  return new Promise<string>((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    // In raw mode, Ctrl-C sends no signal.
    lines.once('SIGINT', () => interruption.abort(new Error('Interrupted.')))
    lines.once('close', () => resolve(''))
    lines.question(question, resolve)
  }).finally(() => lines.close())
}

/** Returns the command that opens a URL; undefined if no browser is likely. */
function browserOf(environment: Environment): string | undefined {
  if (process.platform === 'darwin') return 'open'
  if (process.platform === 'win32') return undefined
  const isRemote = environment.SSH_CONNECTION !== undefined && environment.SSH_CONNECTION !== ''
  const hasDisplay = Boolean(environment.DISPLAY || environment.WAYLAND_DISPLAY)
  if (environment.BROWSER) return environment.BROWSER
  return hasDisplay && !isRemote ? 'xdg-open' : undefined
}

function openerOf(browser: string | undefined): Terminal['openBrowser'] {
  if (browser === undefined) return undefined
  return (url) => {
    const child = spawn(browser, [url], { stdio: 'ignore', detached: true })
    // The URL is also printed.
    child.on('error', () => undefined)
    child.unref()
  }
}
