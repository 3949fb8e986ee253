import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { documentAnswer, type EncodedDocument, encodeDocument } from './encodedDocument.ts'

describe('a document that many ask for', () => {
  let document: EncodedDocument
  before(async () => {
    document = await encodeDocument('Größe: 3')
  })
  const asked = (headers: Record<string, string> = {}) =>
    documentAnswer(document, { header: (name) => headers[name] }, { 'content-type': 'text/plain' })

  it('is sent as it is', () => {
    const { status, bytes, headers } = asked()
    expect(status).to.equal(200)
    expect(Buffer.from(bytes ?? []).toString()).to.equal('Größe: 3')
    expect(headers).to.include({ 'content-type': 'text/plain', vary: 'Accept-Encoding', etag: document.etag })
    expect(headers).not.to.have.property('content-encoding')
  })

  it('is compressed for who takes that', () => {
    const { bytes, headers } = asked({ 'accept-encoding': 'br, gzip;q=0.5' })
    expect(headers).to.include({ 'content-encoding': 'gzip' })
    expect(gunzipSync(bytes ?? Buffer.of()).toString()).to.equal('Größe: 3')
  })

  const known: [sentence: string, tags: (etag: string) => string, status: number][] = [
    ['is not sent again to who has it', (etag) => etag, 304],
    ['nor to who has several', (etag) => `"other", ${etag}`, 304],
    ['nor if a proxy has weakened the tag', (etag) => `W/${etag}`, 304],
    ['is sent to who has another', () => '"other"', 200],
  ]
  for (const [sentence, tags, status] of known)
    it(sentence, () => {
      const answer = asked({ 'if-none-match': tags(document.etag) })
      expect(answer.status).to.equal(status)
      expect(answer.bytes === undefined).to.equal(status === 304)
    })

  it('has another tag when it has changed', async () => {
    expect((await encodeDocument('Größe: 4')).etag).not.to.equal(document.etag)
  })
})
