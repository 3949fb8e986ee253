import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'

/** An entry of a Git tree: a file, a program, a link, a tree, or a commit of another repository. */
export const MODES = { file: '100644', program: '100755', link: '120000', tree: '40000', module: '160000' } as const
export type TreeEntry = readonly [kind: keyof typeof MODES, name: string, id: string]

/** Writes Git objects as given, including those that git itself would not write. */
export class GitObjects {
  readonly #folder: string

  /** @param folder of a bare repository that does not exist yet */
  constructor(folder: string) {
    this.#folder = folder
    this.#write('HEAD', 'ref: refs/heads/main\n')
    this.#write('config', '[core]\n\trepositoryformatversion = 0\n\tbare = true\n')
    mkdirSync(join(folder, 'refs/heads'), { recursive: true })
  }

  blob(content: string | Buffer): string {
    return this.#keep('blob', Buffer.from(content))
  }

  /** In the order in which they are given. */
  tree(...entries: readonly TreeEntry[]): string {
    const rows = entries.flatMap(([kind, name, id]) => [
      Buffer.from(`${MODES[kind]} ${name}\0`),
      Buffer.from(id, 'hex'),
    ])
    return this.#keep('tree', Buffer.concat(rows))
  }

  branch(name: string, tree: string): void {
    const who = 't <t@example.test> 0 +0000'
    const commit = this.#keep('commit', Buffer.from(`tree ${tree}\nauthor ${who}\ncommitter ${who}\n\na change\n`))
    this.#write(`refs/heads/${name}`, `${commit}\n`)
  }

  #keep(type: string, content: Buffer): string {
    const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])
    const id = createHash('sha1').update(bytes).digest('hex')
    this.#write(`objects/${id.slice(0, 2)}/${id.slice(2)}`, deflateSync(bytes, { level: 1 }))
    return id
  }

  #write(path: string, content: string | Buffer): void {
    const place = join(this.#folder, path)
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, content)
  }
}
