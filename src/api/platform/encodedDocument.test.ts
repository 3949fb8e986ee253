import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { documentAnswer, type EncodedDocument, encodeDocument } from './encodedDocument.ts'

describe('documentAnswer', () => {
  let document: EncodedDocument
  before(async () => {
    document = await encodeDocument('Größe: 3')
  })
  const answerFor = (headers: Record<string, string> = {}) =>
    documentAnswer(document, { header: (name) => headers[name] }, { 'content-type': 'text/plain' })

  it('returns the plain document', () => {
    const { status, bytes, headers } = answerFor()
    expect(status).to.equal(200)
    expect(Buffer.from(bytes ?? []).toString()).to.equal('Größe: 3')
    expect(headers).to.include({ 'content-type': 'text/plain', vary: 'Accept-Encoding', etag: document.etag })
    expect(headers).not.to.have.property('content-encoding')
  })

  it('returns gzip with Accept-Encoding: gzip', () => {
    const { bytes, headers } = answerFor({ 'accept-encoding': 'br, gzip;q=0.5' })
    expect(headers).to.include({ 'content-encoding': 'gzip' })
    expect(gunzipSync(bytes ?? Buffer.of()).toString()).to.equal('Größe: 3')
  })

  for (const coding of ['gzip;q=0', 'gzip; q=0.000, *', 'identity', 'br, *;q=0'])
    it(`returns the plain document with Accept-Encoding: ${coding}`, () => {
      expect(answerFor({ 'accept-encoding': coding }).headers).not.to.have.property('content-encoding')
    })

  it('has another ETag for each encoding, and returns 304 for both', () => {
    const codings = [{ 'accept-encoding': 'identity' }, { 'accept-encoding': 'gzip' }]
    const tags = codings.map((coding) => String(answerFor(coding).headers?.etag))
    expect(new Set(tags)).to.have.length(2)
    codings.forEach((coding, index) => {
      expect(answerFor({ ...coding, 'if-none-match': tags[index] ?? '' }).status).to.equal(304)
    })
  })

  const known: [sentence: string, tags: (etag: string) => string, status: number][] = [
    ['returns 304 for its ETag', (etag) => etag, 304],
    ['returns 304 for its ETag among several', (etag) => `"other", ${etag}`, 304],
    ['returns 304 for its weak ETag', (etag) => `W/${etag}`, 304],
    ['returns 200 for another ETag', () => '"other"', 200],
  ]
  for (const [sentence, tags, status] of known)
    it(sentence, () => {
      const answer = answerFor({ 'if-none-match': tags(document.etag) })
      expect(answer.status).to.equal(status)
      expect(answer.bytes === undefined).to.equal(status === 304)
    })

  it('has another ETag for another document', async () => {
    expect((await encodeDocument('Größe: 4')).etag).not.to.equal(document.etag)
  })
})
