import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { wholeDocument } from './reference.ts'

describe('wholeDocument', () => {
  it('generates the document once, on the first request', async () => {
    let times = 0
    const ask = wholeDocument(async () => {
      times += 1
      return '{"openapi":"3.1.0"}'
    })
    expect(times).to.equal(0)
    const [one, other] = await Promise.all([ask(), ask()])
    expect([times, other.etag]).to.deep.equal([1, one.etag])
    expect(gunzipSync(one.gzip).toString()).to.equal(one.plain.toString()).and.to.equal('{"openapi":"3.1.0"}')
  })

  it('generates the document again after a failure', async () => {
    let times = 0
    const ask = wholeDocument(async () => {
      times += 1
      if (times === 1) throw new Error('no memory')
      return '{}'
    })
    expect(await ask().catch((error: Error) => error.message)).to.equal('no memory')
    expect((await ask()).plain.toString()).to.equal('{}')
  })
})
