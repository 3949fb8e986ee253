/** Commands of a page, as a reader pastes them. */
export type Block = {
  /** Of the first command, from 1. */
  readonly line: number
  readonly commands: string
  /** The output that the page shows; `…` stands for anything. */
  readonly seen: readonly string[]
  /** Why no test can run it, from `<!-- not run: reason -->` above the block. */
  readonly notRun: string | undefined
}

const FENCE = /^( *)```(\w*)$/
const NOT_RUN = /^ *<!-- not run: (.+) -->$/

/**
 * The `sh` blocks of a page of Markdown. A `text` block that follows is what the commands print.
 *
 * @throws Error for a fence that is not closed
 */
export function blocksOf(markdown: string): Block[] {
  const lines = markdown.split('\n')
  const blocks: Block[] = []
  let reason: string | undefined
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    const [, indent = '', language] = FENCE.exec(line) ?? []
    if (language === undefined) {
      if (line.trim() !== '') reason = NOT_RUN.exec(line)?.[1]
      continue
    }
    const end = lines.indexOf(`${indent}\`\`\``, index + 1)
    if (end < 0) throw new Error(`The block of line ${index + 1} is not closed.`)
    const content = lines.slice(index + 1, end).map((entry) => entry.slice(indent.length))
    const before = blocks.at(-1)
    if (language === 'sh') {
      blocks.push({ line: index + 2, commands: content.join('\n'), seen: [], notRun: reason })
    } else if (language === 'text' && before !== undefined) {
      blocks[blocks.length - 1] = { ...before, seen: [...before.seen, ...content] }
    }
    reason = undefined
    index = end
  }
  return blocks
}

/** The first line of `seen` that the output lacks, in this order; undefined if all are there. */
export function unseenLine(seen: readonly string[], output: string): string | undefined {
  const lines = output.split('\n').map(squeezed)
  let from = 0
  for (const wanted of seen.filter((line) => line.trim() !== '' && line.trim() !== '…')) {
    const pattern = new RegExp(`^${squeezed(wanted).split('…').map(escaped).join('.*')}$`)
    const at = lines.findIndex((line, index) => index >= from && pattern.test(line))
    if (at < 0) return wanted
    from = at + 1
  }
  return undefined
}

/** Columns are as wide as their widest cell, which is another one each time. */
const squeezed = (line: string) => line.trim().replaceAll(/ {2,}/g, '  ')
const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
