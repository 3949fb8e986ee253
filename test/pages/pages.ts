import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Block, blocksOf } from './blocks.ts'

export const ROOT = join(import.meta.dirname, '../..')

export type Page = { readonly path: string; readonly blocks: readonly Block[] }

/** Hand-written pages that contain commands; generated ones and decisions contain none. */
export function pagesWithCommands(): Page[] {
  return ['README.md', 'CONTRIBUTING.md', 'examples/README.md', ...globSync('docs/**/*.md', { cwd: ROOT }).sort()]
    .map((path) => ({ path, blocks: blocksOf(readFileSync(join(ROOT, path), 'utf8')) }))
    .filter(({ blocks }) => blocks.length > 0)
}
