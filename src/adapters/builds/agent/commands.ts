import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/** What of a program's words is kept, to tell from it why it failed. */
const TAIL = 64 * 1024

export type Ended = { readonly code: number; readonly said: string; readonly output: string }

type Running = {
  readonly cwd?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Where its output goes; into the answer if absent. */
  readonly into?: Writable
}

/** Only what programs need: nothing of the pod's environment goes on to them. */
const BASE = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/tmp', LC_ALL: 'C' }

/** Runs a program; what it says goes to the log of the build as well. */
export async function ran(program: string, args: readonly string[], running: Running = {}): Promise<Ended> {
  const { cwd, environment = {}, into } = running
  const child = spawn(program, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...BASE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [said, output] = ['', '']
  child.stderr.on('data', (chunk: Buffer) => {
    process.stdout.write(chunk)
    said = (said + chunk.toString()).slice(-TAIL)
  })
  if (into !== undefined) child.stdout.pipe(into)
  else {
    child.stdout.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-TAIL)
    })
  }
  const code = await new Promise<number>((done, failed) =>
    child.once('error', failed).once('close', (ended) => done(ended ?? 1)),
  )
  return { code, said, output }
}
