import { readFileSync } from 'node:fs'

/**
 * Returns the trimmed text that a file holds now, because others replace it there. While it is missing or empty, the
 * last text counts. Meant for short files that are seldom asked for.
 *
 * @throws Error if it cannot be read at first
 */
export function currentFile(path: string): () => string {
  const read = () => readFileSync(path, 'utf8').trim()
  let text = read()
  return () => {
    try {
      text = read() || text
    } catch {
      // It is being replaced.
    }
    return text
  }
}
