import { readFile } from 'node:fs/promises'
import type { Terminal } from './command.ts'
import { localFailure, usage } from './failure.ts'

/** Reads a file, or stdin for `-`. */
export async function readTextInput(file: string, terminal: Terminal): Promise<string> {
  if (file === '-') return terminal.readInput()
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw localFailure(`${file} cannot be read.`, error)
  }
}

/** Reads `--data JSON`, `--data @file` or `--data -`. @throws CommandFailure (usage) if it is not JSON */
export async function parseDataOption(given: string, terminal: Terminal): Promise<unknown> {
  const text = given === '-' || given.startsWith('@') ? await readTextInput(given.replace(/^@/, ''), terminal) : given
  try {
    return JSON.parse(text)
  } catch {
    throw usage(`--data is not JSON; give JSON, @file, or - for stdin.`)
  }
}

/** Parses `name=value` pairs. @throws CommandFailure (usage) */
export function parsePairs(option: string, texts: readonly string[]): [string, string][] {
  return texts.map((text) => {
    const at = text.indexOf('=')
    if (at < 1) throw usage(`--${option} takes name=value, not "${text}".`)
    return [text.slice(0, at), text.slice(at + 1)]
  })
}
