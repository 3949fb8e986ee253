import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'

/** Modules that a file imports at run time; types are removed by then. */
const IMPORT = /^(?:import|export) (?!type )(?:[^'";]*? from )?'(\.{1,2}\/[^']+)'/gm

/**
 * A program and every file of the project that it loads, for an image that holds nothing else.
 *
 * @param entry relative to the root of the project, as the answer is
 */
export async function sourcesOf(root: string, entry: string): Promise<string[]> {
  const found = new Set([entry])
  for (const path of found) {
    const text = await readFile(join(root, path), 'utf8')
    for (const [, target = ''] of text.matchAll(IMPORT)) found.add(posix.join(posix.dirname(path), target))
  }
  return [...found].sort()
}
