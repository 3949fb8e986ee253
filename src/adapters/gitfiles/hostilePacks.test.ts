import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { expect } from 'chai'
import { type GitObjects, type PackLimits, PackRefused, readPack } from './pack.ts'
import { filesBelow } from './tree.ts'

const LIMITS: PackLimits = { objects: 10, objectBytes: 4096, bytes: 10_000 }
const BLOB = 3
const REFERENCE = 7

/** As git writes it: a type, a size of seven bits a byte, what comes before the content, and the content. */
function entry(type: number, content: Buffer, { size = content.length, before = Buffer.alloc(0) } = {}): Buffer {
  const bytes = [(type << 4) | (size & 15)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push((bytes.pop() ?? 0) | 0x80, rest & 0x7f)
  }
  return Buffer.concat([Buffer.from(bytes), before, deflateSync(content)])
}

function pack(entries: readonly Buffer[], count = entries.length): Buffer {
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  head.writeUInt32BE(count, 8)
  return Buffer.concat([head, ...entries, Buffer.alloc(20)])
}

const idOf = (type: string, data: Buffer) =>
  createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex')
const base = Buffer.from('hello')
const baseId = Buffer.from(idOf('blob', base), 'hex')
const delta = (...bytes: number[]) => entry(REFERENCE, Buffer.from(bytes), { before: baseId })

async function refusalOf(bytes: Buffer): Promise<string> {
  const objects: GitObjects = new Map()
  try {
    await readPack(bytes, objects, LIMITS)
    return `${objects.size} objects`
  } catch (error) {
    if (error instanceof PackRefused) return error.message
    throw error
  }
}

describe('a pack of a server that nobody knows', () => {
  const tooMuch = 'it holds more than is read of a repository'
  const broken = 'its pack is broken'
  const cases: [string, Buffer, string][] = [
    ['with a file is read', pack([entry(BLOB, base)]), '1 objects'],
    ['with an empty file is read', pack([entry(BLOB, Buffer.alloc(0))]), '1 objects'],
    ['with a change of a file is read', pack([entry(BLOB, base), delta(5, 6, 0x90, 5, 1, 0x21)]), '2 objects'],
    ['with a change before its file is read', pack([delta(5, 6, 0x90, 5, 1, 0x21), entry(BLOB, base)]), '2 objects'],
    [
      'with a file that says it is large is refused before it is unpacked',
      pack([entry(BLOB, base, { size: 5000 })]),
      tooMuch,
    ],
    [
      'with a file that is larger than it says is refused',
      pack([entry(BLOB, Buffer.alloc(4000), { size: 10 })]),
      broken,
    ],
    ['with a file that is smaller than it says is refused', pack([entry(BLOB, base, { size: 10 })]), broken],
    [
      'with files that are too much together is refused',
      pack([1, 2, 3].map((fill) => entry(BLOB, Buffer.alloc(4000, fill)))),
      tooMuch,
    ],
    [
      'that says it has very many files is refused',
      pack([entry(BLOB, base)], 0xffffffff),
      'it has more than 10 files and folders',
    ],
    ['with fewer files than it says is refused', pack([entry(BLOB, base)], 2), broken],
    [
      'with a change that makes much of little is refused',
      pack([entry(BLOB, base), delta(5, 0xff, 0xff, 0xff, 0x7f)]),
      tooMuch,
    ],
    ['with a change that copies what is not there is refused', pack([entry(BLOB, base), delta(5, 9, 0x90, 9)]), broken],
    ['with a change of nothing is refused', pack([delta(5, 5, 0x90, 5)]), broken],
    ['with a change of another size is refused', pack([entry(BLOB, base), delta(6, 5, 0x90, 5)]), broken],
    ['of an unknown type is refused', pack([entry(5, base)]), broken],
    ['that is cut off is refused', pack([entry(BLOB, base)]).subarray(0, 15), broken],
    ['that is none is refused', Buffer.from('<html>'.repeat(10)), broken],
  ]
  for (const [title, bytes, expected] of cases) {
    it(title, async () => {
      expect(await refusalOf(bytes)).to.equal(expected)
    })
  }
})

describe('a tree of a server that nobody knows', () => {
  const objects: GitObjects = new Map()
  const keep = (type: 'tree' | 'commit', data: Buffer) => {
    const id = idOf(type, data)
    objects.set(id, { type, data })
    return id
  }
  const treeOf = (...rows: [mode: string, name: string, id: string][]) =>
    keep(
      'tree',
      Buffer.concat(rows.flatMap(([mode, name, id]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')])),
    )
  const commitOf = (tree: string) => keep('commit', Buffer.from(`tree ${tree}\nauthor a\n\nx\n`))
  const file = baseId.toString('hex')

  it('that stands in itself many times is not walked to its end', () => {
    let tree = treeOf(['100644', 'a.yaml', file])
    for (let depth = 0; depth < 12; depth += 1)
      tree = treeOf(...'abcdefgh'.split('').map((name): [string, string, string] => ['40000', name, tree]))
    expect(() => filesBelow(objects, commitOf(tree), '')).to.throw(PackRefused, 'more than 20000')
  })

  it('that is very deep is not walked to its end', () => {
    let tree = treeOf(['100644', 'a.yaml', file])
    for (let depth = 0; depth < 40; depth += 1) tree = treeOf(['40000', 'a', tree])
    expect(() => filesBelow(objects, commitOf(tree), '')).to.throw(PackRefused, 'deep')
  })

  it('that is broken, missing or of another type is refused', () => {
    expect(() => filesBelow(objects, commitOf(file), '')).to.throw(PackRefused, 'a tree of it is missing')
    expect(() => filesBelow(objects, commitOf(keep('tree', Buffer.from('100644 a.yaml\0short'))), '')).to.throw(
      PackRefused,
    )
    expect(() => filesBelow(objects, file, '')).to.throw(PackRefused, 'a commit of it is missing')
  })

  it('gives no name that leads elsewhere, no link and no commit of elsewhere', () => {
    const tree = treeOf(['100644', '../a.yaml', file], ['120000', 'b.yaml', file], ['160000', 'c.yaml', file])
    expect(filesBelow(objects, commitOf(tree), '')).to.deep.equal([])
  })
})
