import { readFile } from 'node:fs/promises'
import type { Terminal } from './command.ts'
import { localTrouble, usage } from './failure.ts'

/** Reads a file, or stdin for `-`. */
export async function textOf(file: string, terminal: Terminal): Promise<string> {
  if (file === '-') return terminal.readInput()
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw localTrouble(`${file} cannot be read.`, error)
  }
}

/** Reads `--data JSON`, `--data @file` or `--data -`. @throws CommandFailure (usage) if it is not JSON */
export async function dataOf(given: string, terminal: Terminal): Promise<unknown> {
  const text = given === '-' || given.startsWith('@') ? await textOf(given.replace(/^@/, ''), terminal) : given
  try {
    return JSON.parse(text)
  } catch {
    throw usage(`--data is not JSON; give JSON, @file, or - for stdin.`)
  }
}

/** Parses `name=value` pairs. @throws CommandFailure (usage) */
export function pairsOf(option: string, texts: readonly string[]): [string, string][] {
  return texts.map((text) => {
    const at = text.indexOf('=')
    if (at < 1) throw usage(`--${option} takes name=value, not "${text}".`)
    return [text.slice(0, at), text.slice(at + 1)]
  })
}
