import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { choosePorts, keptPorts } from './ports.ts'

const names = ['a', 'b'] as const

describe('ports', () => {
  const cases: { title: string; stored: Record<string, unknown>; free: number[]; kept: Record<string, number> }[] = [
    {
      title: 'of the last run are kept when free',
      stored: { a: 1000, b: 2000 },
      free: [1000, 2000],
      kept: { a: 1000, b: 2000 },
    },
    { title: 'that somebody else took are given up', stored: { a: 1000, b: 2000 }, free: [2000], kept: { b: 2000 } },
    { title: 'are never given to two listeners', stored: { a: 1000, b: 1000 }, free: [1000], kept: { a: 1000 } },
    { title: 'that are no port are ignored', stored: { a: '1000', b: 70_000 }, free: [1000, 70_000], kept: {} },
    { title: 'of other listeners are ignored', stored: { c: 1000 }, free: [1000], kept: {} },
  ]
  for (const { title, stored, free, kept } of cases) {
    it(title, () => expect(keptPorts(names, stored, (port) => free.includes(port))).to.deep.equal(kept))
  }

  describe('on this machine', () => {
    let folder: string
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'freehold-ports-'))
    })
    afterEach(() => rm(folder, { recursive: true, force: true }))

    it('stay the same from run to run, and leave those of other names alone', async () => {
      const first = await choosePorts(folder, names)
      const other = await choosePorts(folder, ['c'])
      expect(await choosePorts(folder, names)).to.deep.equal(first)
      expect(await choosePorts(folder, ['c'])).to.deep.equal(other)
      expect(new Set([first.a, first.b, other.c]).size).to.equal(3)
    })

    it('are none that the kernel gives to connections, nor node ports', async () => {
      for (const port of Object.values(await choosePorts(folder, ['a', 'b', 'c', 'd'])))
        expect(port).to.be.within(12_000, 29_999)
    })

    it('are neighbors, where nobody else listens, whose other ports may be chosen and not used yet', async () => {
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

    it('are none that another start has chosen, and whose programs do not listen yet', async () => {
      const folders = Array.from({ length: 60 }, (_, number) => join(folder, `${number}`))
      const chosen = await Promise.all(folders.map((each) => choosePorts(each, names)))
      for (const each of folders.slice(0, 20)) chosen.push(await choosePorts(join(each, 'later'), names))
      const all = chosen.flatMap(({ a, b }) => [a, b])
      expect(new Set(all).size).to.equal(all.length)
    })

    it('move when somebody else listens there', async () => {
      const first = await choosePorts(folder, names)
      const thief = createServer()
      await new Promise<void>((done) => thief.listen(first.a, '127.0.0.1', done))
      const second = await choosePorts(folder, names)
      await new Promise((done) => thief.close(done))
      expect(second.a).to.not.equal(first.a)
      expect(second.b).to.equal(first.b)
    })

    it('that were asked for are taken and remembered, and no other listener has them', async () => {
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

    it('that were asked for and are taken are refused at once, and not remembered', async () => {
      const first = await choosePorts(folder, names)
      const holder = createServer()
      await new Promise<void>((done) => holder.listen(0, '127.0.0.1', done))
      const { port } = holder.address() as AddressInfo
      const refusal = await choosePorts(folder, names, { a: port }).catch((error: Error) => error.message)
      await new Promise((done) => holder.close(done))
      expect(refusal).to.contain(`port ${port} of 127.0.0.1`)
      expect(await choosePorts(folder, names)).to.deep.equal(first)
    })

    it('are let go of although clients of the last run call there', async () => {
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

    it('survive a broken file', async () => {
      await writeFile(join(folder, 'ports.json'), '{"a": ')
      expect((await choosePorts(folder, names)).a).to.be.greaterThan(0)
    })
  })
})
