import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { expect } from 'chai'
import type { Environment } from '../../src/cli/files.ts'
import { run } from '../../src/cli/run.ts'
import { commandLine } from '../make/commandLine.ts'
import { WITHIN } from '../make/ownProcess.ts'
import { patiently } from '../make/patience.ts'

/** The program, for tests of processes: concurrency, signals, standard input. */
export const FREEHOLD = resolve(import.meta.dirname, '../../bin/freehold.mjs')

/** Milliseconds for a command, which may wait for what it started. */
const LONGEST = 600_000

export type Ended = { code: number; out: string; err: string }

/** A new process of the program with its own home, which sees only PATH of this process's environment. */
export function spawnFreehold(
  words: readonly string[],
  home: string,
  { env, ...options }: SpawnOptions = {},
): ChildProcess {
  const own = { PATH: process.env.PATH ?? '', HOME: home, ...env }
  return spawn(process.execPath, [FREEHOLD, ...words], { ...WITHIN, timeout: LONGEST, ...options, env: own })
}

/** The complete output of the process, and its exit code. */
export function endOf(child: ChildProcess, onError: (text: string) => void = () => undefined): Promise<Ended> {
  return new Promise((done, fail) => {
    const ended = { out: '', err: '' }
    child.stdout?.on('data', (part) => {
      ended.out += part
    })
    child.stderr?.on('data', (part) => {
      ended.err += part
      onError(ended.err)
    })
    child.once('error', fail)
    child.once('close', (code) => done({ code: code ?? -1, ...ended }))
  })
}

/**
 * Runs a command in this process: its effect is the same, and starting a process would cost more than everything else.
 * Retries if the platform was busy, as people do, because the command line never sends a write twice.
 */
export function freehold(words: readonly string[], given: Parameters<typeof ran>[1]): Promise<Ended> {
  return patiently(
    () => ran(words, given),
    ({ code, err }) => (code !== 0 && /SERVICE_UNAVAILABLE|InternalError/.test(err) ? BUSY_FOR : undefined),
  )
}

/** Milliseconds. */
const BUSY_FOR = 2_000

async function ran(
  words: readonly string[],
  { home, environment = {}, input = '' }: { home: string; environment?: Environment; input?: string },
): Promise<Ended> {
  const ended = { out: '', err: '' }
  const writer = (to: 'out' | 'err') => (text: string) => {
    ended[to] += text
  }
  const context = commandLine(home, {
    environment: { PATH: process.env.PATH, HOME: home, ...environment },
    terminal: {
      out: writer('out'),
      err: writer('err'),
      readInput: () => Promise.resolve(input),
      readPassword: () => Promise.resolve(input.split('\n')[0] ?? ''),
    },
  })
  const code = await run(words, { ...context, program: [process.execPath, FREEHOLD] })
  return { code, ...ended }
}

/** The same for a command that must succeed. */
export async function freeholdSucceeds(
  words: readonly string[],
  options: Parameters<typeof freehold>[1],
): Promise<Ended> {
  const ended = await freehold(words, options)
  expect(ended.code, `freehold ${words.join(' ')}: ${ended.err}`).to.equal(0)
  return ended
}
