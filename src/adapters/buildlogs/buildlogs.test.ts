import { expect } from 'chai'
import { BUILD_LOG_LINES_MAX, deploymentLogPart } from '../../contracts/deployments.ts'
import { fakeBlobs } from '../blobs/fake.ts'
import type { BlobStore } from '../blobs/port.ts'
import { blobBuildLogs } from './client.ts'

const DEPLOYMENT = { apiVersion: 'v1', kind: 'DeploymentRecord', namespace: 'n', name: 'd', uid: 'u' }

/** Yields to other tasks a random number of times. */
async function turn(): Promise<void> {
  for (let times = Math.floor(Math.random() * 4); times > 0; times -= 1) await new Promise(setImmediate)
}

/** Counts the bytes that are read and written. */
function countedBlobs() {
  const blobs = fakeBlobs()
  const counted = { read: 0, written: 0 }
  const store: BlobStore = {
    ...blobs,
    async read(ref) {
      const found = await blobs.read(ref)
      counted.read += found?.bytes.length ?? 0
      return found
    },
    write(ref, bytes, options) {
      counted.written += bytes.length
      return blobs.write(ref, bytes, options)
    },
  }
  return { store, counted }
}

const refusal = (error: unknown) => (error as { code?: string }).code

describe('blobBuildLogs', () => {
  const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `line ${from + index}`)

  it('returns pages from any line on, whatever the size of the appended batches', async () => {
    const logs = blobBuildLogs(fakeBlobs())
    const all: string[] = []
    for (const size of [1, 4_000, 3, 2_500, 30_000, 1, 7_000]) {
      const more = numbered(size, all.length)
      if (size === 3) more[1] = 'ä'.repeat(600_000)
      await logs.append(DEPLOYMENT, more, { isFinal: size === 7_000 })
      all.push(...more)
    }
    for (const offset of [0, 1, 4_000, 4_001, 4_002, 4_003, 6_504, 20_000, all.length - 1, all.length]) {
      const { lines, isEnd, isFinal } = await logs.read(DEPLOYMENT, offset, 3)
      expect(lines, `from ${offset}`).to.deep.equal(all.slice(offset, offset + lines.length))
      expect([lines.length > 0, isEnd, isFinal]).to.deep.equal([
        offset < all.length,
        offset + lines.length === all.length,
        true,
      ])
    }
    const whole: string[] = []
    while (whole.length < all.length) whole.push(...(await logs.read(DEPLOYMENT, whole.length, 10_000)).lines)
    expect(whole).to.deep.equal(all)
  })

  it('limits a page to 10,000 lines and to about a mebibyte', async () => {
    const logs = blobBuildLogs(fakeBlobs())
    await logs.append(DEPLOYMENT, Array(50_000).fill(''), { isFinal: false })
    await logs.append(DEPLOYMENT, Array(40).fill('x'.repeat(100_000)), { isFinal: false })
    expect((await logs.read(DEPLOYMENT, 0, 10_000)).lines).to.have.length(10_000)
    expect((await logs.read(DEPLOYMENT, 50_000, 10_000)).lines).to.have.length(11)
  })

  it('rejects lines beyond BUILD_LOG_LINES_MAX, even empty ones', async () => {
    const logs = blobBuildLogs(fakeBlobs())
    await logs.append(DEPLOYMENT, Array(BUILD_LOG_LINES_MAX).fill(''), { isFinal: false })
    const error = await logs.append(DEPLOYMENT, [''], { isFinal: false }).catch((refused: unknown) => refused)
    expect(refusal(error)).to.equal('BODY_TOO_LARGE')
  })

  it('reads and writes less than 40,000 bytes to append a line to a log of 40,000 lines', async () => {
    const { store, counted } = countedBlobs()
    const logs = blobBuildLogs(store)
    await logs.append(DEPLOYMENT, Array(40_000).fill('x'.repeat(30)), { isFinal: false })
    let most = 0
    for (let time = 0; time < 50; time += 1) {
      Object.assign(counted, { read: 0, written: 0 })
      await logs.append(DEPLOYMENT, ['y'.repeat(2_000)], { isFinal: false })
      most = Math.max(most, counted.written, counted.read)
    }
    expect(most).to.be.below(40_000)
    Object.assign(counted, { read: 0 })
    await logs.read(DEPLOYMENT, 40_049, 10_000)
    expect(counted.read).to.be.below(70_000)
  })

  it('reads and extends a log that was stored without line counts per part', async () => {
    const blobs = fakeBlobs()
    const write = (part: number, text: string) =>
      blobs.write({ namespace: 'n', name: deploymentLogPart('d', part) }, Buffer.from(text), {
        version: undefined,
        owner: { ...DEPLOYMENT, labels: {} },
      })
    await write(0, JSON.stringify({ lineCount: 3, sizeBytes: 12, isFinal: false, parts: 2, lastBytes: 6 }))
    await write(1, 'one\ntw')
    await write(2, 'o\nthr\n')
    const logs = blobBuildLogs(blobs)
    await logs.append(DEPLOYMENT, ['four'], { isFinal: true })
    expect((await logs.read(DEPLOYMENT, 1, 10)).lines).to.deep.equal(['two', 'thr', 'four'])
    expect((await logs.read(DEPLOYMENT, 3, 10)).lines).to.deep.equal(['four'])
  })

  it('keeps the batches of concurrent processes intact', async () => {
    const blobs = fakeBlobs()
    // As over a network: other tasks run between any two calls.
    const slow: BlobStore = {
      ...blobs,
      async read(ref) {
        await turn()
        return blobs.read(ref)
      },
      async write(...args) {
        await turn()
        return blobs.write(...args)
      },
    }
    const processes = [blobBuildLogs(slow), blobBuildLogs(slow), blobBuildLogs(slow)]
    const wanted: string[] = []
    for (let round = 0; round < 5; round += 1) {
      const adding = processes.map(async (logs, process) => {
        const lines = [`${round} ${process} begins`, `${round} ${process} ends`]
        wanted.push(...lines)
        await logs.append(DEPLOYMENT, lines, { isFinal: false })
      })
      await Promise.all(adding)
    }
    const { lines } = await blobBuildLogs(blobs).read(DEPLOYMENT, 0, 10_000)
    expect(lines.toSorted()).to.deep.equal(wanted.toSorted())
    for (let at = 0; at < lines.length; at += 2) expect(lines[at + 1]).to.equal(lines[at]?.replace('begins', 'ends'))
  })

  it('deletes whole logs, the oldest first, down to a size', async () => {
    const blobs = fakeBlobs()
    const logs = blobBuildLogs(blobs)
    const newestFirst = ['third', 'second', 'first'].map((name) => ({ ...DEPLOYMENT, name, uid: name }))
    for (const one of newestFirst) await logs.append(one, Array(40_000).fill('x'.repeat(30)), { isFinal: true })
    await logs.forgetOldest(newestFirst, 2 * 40_000 * 31)
    const counts = await Promise.all(newestFirst.map((one) => logs.read(one, 0, 1)))
    expect(counts.map(({ lines }) => lines.length)).to.deep.equal([1, 1, 0])
    for (let part = 0; part < 5; part += 1)
      expect(await blobs.read({ namespace: 'n', name: deploymentLogPart('first', part) })).to.equal(undefined)
  })

  it('appends one batch at a time, queues 4 and rejects the others with TOO_MANY_REQUESTS', async () => {
    const logs = blobBuildLogs(fakeBlobs())
    const all = Array.from({ length: 20 }, (_, index) => logs.append(DEPLOYMENT, [`${index}`], { isFinal: false }))
    const other = logs.append({ ...DEPLOYMENT, name: 'other' }, ['x'], { isFinal: false })
    const ends = await Promise.allSettled(all)
    const refused = ends.flatMap((end) => (end.status === 'rejected' ? [refusal(end.reason)] : []))
    expect(new Set(refused)).to.deep.equal(new Set(['TOO_MANY_REQUESTS']))
    expect(refused).to.have.length(15)
    expect((await logs.read(DEPLOYMENT, 0, 10)).lines).to.deep.equal(['0', '1', '2', '3', '4'])
    expect((await other).lineCount).to.equal(1)
    await logs.append(DEPLOYMENT, ['later'], { isFinal: true })
  })
})
