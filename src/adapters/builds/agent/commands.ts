import { spawn } from 'node:child_process'

/** Bytes of output to keep: enough to tell why a program failed. */
const OUTPUT_TAIL_BYTES = 64 * 1024

export type ProgramResult = { readonly code: number; readonly errorOutput: string; readonly output: string }

type RunOptions = {
  readonly cwd?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Receives stdout and may abort the program by throwing. Without it, stdout is in `output`. */
  readonly watch?: (text: string) => void
}

/** A minimal environment: nothing of the pod's own is passed on. */
const BASE = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/tmp', LC_ALL: 'C' }

/** Runs a program. Its stderr also goes to the build log. */
export async function runProgram(
  program: string,
  args: readonly string[],
  running: RunOptions = {},
): Promise<ProgramResult> {
  const { cwd, environment = {}, watch } = running
  const child = spawn(program, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...BASE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [errorOutput, output] = ['', '']
  child.stderr.on('data', (chunk: Buffer) => {
    process.stdout.write(chunk)
    errorOutput = (errorOutput + chunk.toString()).slice(-OUTPUT_TAIL_BYTES)
  })
  let refusal: unknown
  const take = (text: string) => {
    if (watch === undefined) output = (output + text).slice(-OUTPUT_TAIL_BYTES)
    else if (refusal === undefined) watch(text)
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    try {
      take(text)
    } catch (error) {
      refusal = error
      child.kill('SIGKILL')
    }
  })
  const code = await new Promise<number>((done, failed) =>
    child.once('error', failed).once('close', (ended) => done(ended ?? 1)),
  )
  if (refusal !== undefined) throw refusal
  return { code, errorOutput, output }
}
