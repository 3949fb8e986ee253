import { expect } from 'chai'
import { END_FRAME, encodeFrame, FrameReader } from './frames.ts'

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Counts the bytes that are copied during the work. */
async function copiedBy(work: () => Promise<unknown>): Promise<number> {
  const { concat } = Buffer
  let copied = 0
  Buffer.concat = ((...given: Parameters<typeof concat>) => {
    const whole = concat(...given)
    copied += whole.length
    return whole
  }) as typeof concat
  try {
    await work()
  } finally {
    Buffer.concat = concat
  }
  return copied
}

describe('FrameReader', () => {
  const content = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251))
  const sent = Buffer.concat([...encodeFrame(content), ...encodeFrame(Buffer.from('next')), END_FRAME])

  for (const size of [1, 3, 1_000, 65_536, sent.length])
    it(`reads whole frames from chunks of ${size} bytes`, async () => {
      const frames = new FrameReader(inChunks(sent, size))
      expect((await frames.whole())?.equals(content)).to.equal(true)
      expect((await frames.whole())?.toString()).to.equal('next')
      expect(await frames.whole()).to.equal(undefined)
    })

  it('copies each byte less than three times on average, in however many chunks it comes', async () => {
    const copied = await copiedBy(() => new FrameReader(inChunks(sent, 1_000)).whole())
    expect(copied / content.length).to.be.below(3)
  })

  it('rejects a frame that is cut off', async () => {
    const error = await new FrameReader(inChunks(sent.subarray(0, 5_000), 1_000))
      .whole()
      .catch((thrown: Error) => thrown)
    expect(error).to.be.instanceOf(Error)
  })
})
