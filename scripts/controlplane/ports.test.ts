import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { choosePorts, keptPorts } from './ports.ts'

const names = ['a', 'b'] as const

describe('ports of a data folder', () => {
  const cases: { title: string; stored: Record<string, unknown>; free: number[]; kept: Record<string, number> }[] = [
    {
      title: 'keeps free ports of the last run',
      stored: { a: 1000, b: 2000 },
      free: [1000, 2000],
      kept: { a: 1000, b: 2000 },
    },
    { title: 'drops a port that is in use', stored: { a: 1000, b: 2000 }, free: [2000], kept: { b: 2000 } },
    { title: 'keeps a port for only one of two names', stored: { a: 1000, b: 1000 }, free: [1000], kept: { a: 1000 } },
    { title: 'ignores values that are no port', stored: { a: '1000', b: 70_000 }, free: [1000, 70_000], kept: {} },
    { title: 'ignores the ports of other names', stored: { c: 1000 }, free: [1000], kept: {} },
  ]
  for (const { title, stored, free, kept } of cases) {
    it(`keptPorts ${title}`, () => expect(keptPorts(names, stored, (port) => free.includes(port))).to.deep.equal(kept))
  }

  describe('choosePorts', () => {
    let folder: string
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'freehold-ports-'))
    })
    afterEach(() => rm(folder, { recursive: true, force: true }))

    it('returns the same ports in each run, and others for other names', async () => {
      const first = await choosePorts(folder, names)
      const other = await choosePorts(folder, ['c'])
      expect(await choosePorts(folder, names)).to.deep.equal(first)
      expect(await choosePorts(folder, ['c'])).to.deep.equal(other)
      expect(new Set([first.a, first.b, other.c]).size).to.equal(3)
    })

    it('returns ports from 12000 to 29999', async () => {
      for (const port of Object.values(await choosePorts(folder, ['a', 'b', 'c', 'd'])))
        expect(port).to.be.within(12_000, 29_999)
    })

    it('returns ports of one block of 50, which no other folder shares', async () => {
      const { a, b } = await choosePorts(folder, names)
      expect(Math.floor(a / 50)).to.equal(Math.floor(b / 50))
      const neighbor = createServer()
      await new Promise<void>((done) => neighbor.listen(a, '127.0.0.1', done))
      const others = []
      for (let number = 0; number < 50; number += 1)
        others.push(...Object.values(await choosePorts(join(folder, `${number}`), names)))
      await new Promise((done) => neighbor.close(done))
      for (const other of others) expect(Math.floor(other / 50)).not.to.equal(Math.floor(a / 50))
    })

    it('returns different ports to concurrent starts whose programs do not listen yet', async () => {
      const folders = Array.from({ length: 60 }, (_, number) => join(folder, `${number}`))
      const chosen = await Promise.all(folders.map((each) => choosePorts(each, names)))
      for (const each of folders.slice(0, 20)) chosen.push(await choosePorts(join(each, 'later'), names))
      const all = chosen.flatMap(({ a, b }) => [a, b])
      expect(new Set(all).size).to.equal(all.length)
    })

    it('replaces a port on which another process listens', async () => {
      const first = await choosePorts(folder, names)
      const thief = createServer()
      await new Promise<void>((done) => thief.listen(first.a, '127.0.0.1', done))
      const second = await choosePorts(folder, names)
      await new Promise((done) => thief.close(done))
      expect(second.a).to.not.equal(first.a)
      expect(second.b).to.equal(first.b)
    })

    it('stores requested ports and gives them to no other name', async () => {
      const other = await choosePorts(folder, ['c'])
      const first = await choosePorts(folder, names, {})
      const asked = first.a
      expect((await choosePorts(folder, names, { b: asked })).b).to.equal(asked)
      const next = await choosePorts(folder, names)
      expect(next.b, 'without being asked again').to.equal(asked)
      expect(next.a).to.not.equal(asked)
      await choosePorts(folder, names, { a: other.c })
      expect((await choosePorts(folder, ['c'])).c, 'of another group').to.not.equal(other.c)
    })

    it('rejects a requested port in use, and does not store it', async () => {
      const first = await choosePorts(folder, names)
      const holder = createServer()
      await new Promise<void>((done) => holder.listen(0, '127.0.0.1', done))
      const { port } = holder.address() as AddressInfo
      const refusal = await choosePorts(folder, names, { a: port }).catch((error: Error) => error.message)
      await new Promise((done) => holder.close(done))
      expect(refusal).to.contain(`port ${port} of 127.0.0.1`)
      expect(await choosePorts(folder, names)).to.deep.equal(first)
    })

    it('keeps its ports free although clients of the last run connect to them', async () => {
      const first = await choosePorts(folder, names)
      const sockets: Socket[] = []
      const caller = setInterval(() => sockets.push(connect(first.a, '127.0.0.1').on('error', () => {})), 0)
      try {
        for (let round = 0; round < 50; round += 1) await choosePorts(folder, names)
      } finally {
        clearInterval(caller)
        for (const socket of sockets) socket.destroy()
      }
      expect(sockets).to.not.have.length(0)
    })

    it('ignores a truncated file', async () => {
      await writeFile(join(folder, 'ports.json'), '{"a": ')
      expect((await choosePorts(folder, names)).a).to.be.greaterThan(0)
    })
  })
})
