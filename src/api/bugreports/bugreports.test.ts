import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { BugReport } from '../../crds/bugreports.ts'

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(16)]).toString('base64')
const text = (content: string) => ({
  fileName: 'log.txt',
  mediaType: 'text/plain',
  content: Buffer.from(content).toString('base64'),
})
const REPORT = { title: 'It breaks', description: 'I used password=hunter2 and it broke.' }

describe('POST /bug-reports', () => {
  const blobs = fakeBlobs()
  let facade: Awaited<ReturnType<typeof startFacade>>
  before(async () => {
    facade = await startFacade({}, { bugReports: { blobs } })
  })
  after(() => facade.stop())
  const send = (body: object, person = crypto.randomUUID()) =>
    request(facade.app).post('/bug-reports').set('authorization', bearer(person)).send(body)
  const stored = async (number: number) => {
    const found = await facade.client.get(BugReport.resource, { namespace: SYSTEM_NAMESPACE, name: `bug-${number}` })
    return found as unknown as BugReport
  }

  it('numbers reports as Open and masks secrets', async () => {
    const one = await send({ ...REPORT, url: 'https://me:pw@x.test/?token=abc' })
    const two = await send(REPORT)
    expect([one.status, two.body.number - one.body.number, two.body.status]).to.deep.equal([201, 1, 'Open'])
    expect(one.headers.etag).to.match(/^"1-/)
    const { spec } = await stored(one.body.number)
    expect(spec.description).to.equal('I used password=*** and it broke.')
    expect(spec.url).to.equal('https://***@x.test/?token=***')
  })

  it('stores attachments as blobs, with masked secrets in text', async () => {
    const attachments = [
      text('Authorization: Bearer abcdef123'),
      { fileName: 'a.png', mediaType: 'image/png', content: PNG },
    ]
    const { body } = await send({ ...REPORT, attachments })
    const { spec } = await stored(body.number)
    expect(JSON.stringify(spec)).to.not.include(PNG)
    const read = async (index: number) => {
      const name = spec.attachments[index]?.secretName ?? ''
      return Buffer.from((await blobs.read({ namespace: SYSTEM_NAMESPACE, name }))?.bytes ?? [])
    }
    expect((await read(0)).toString()).to.equal('Authorization: Bearer ***')
    expect((await read(1)).toString('base64')).to.equal(PNG)
  })

  it('returns 429 after ten reports of a person within an hour, but not to another person', async () => {
    const person = crypto.randomUUID()
    for (let count = 0; count < 10; count += 1) expect((await send(REPORT, person)).status).to.equal(201)
    const refused = await send(REPORT, person)
    expect([refused.status, refused.body.code]).to.deep.equal([429, 'too-many-reports'])
    expect(Number(refused.headers['retry-after'])).to.be.within(1, 3600)
    expect((await send(REPORT)).status).to.equal(201)
  })

  describe('once reports take the room for them', () => {
    const HELD = [...Array(100).keys()].map((at) => `bug-${10_000 + at}`)
    const put = (name: string, reportedBy: string, bytes: number) => {
      const attachments = [{ fileName: 'a', mediaType: 'text/plain', bytes, sha256: 'a'.repeat(64), secretName: 'a' }]
      const fields = { reportedBy, reportedAt: '2026-01-01T00:00:00Z', state: 'Open', attachments }
      facade.put(BugReport, name, { ...REPORT, severity: 'Normal', ...fields }, SYSTEM_NAMESPACE)
    }
    afterEach(async () => {
      const { items } = await facade.client.list(BugReport.resource, { namespace: SYSTEM_NAMESPACE })
      for (const { metadata } of items)
        if (HELD.includes(metadata.name)) await facade.client.remove(BugReport.resource, metadata)
    })

    it('returns 429 to whoever holds as much as is left for others, but not to others', async () => {
      const person = crypto.randomUUID()
      for (const name of HELD.slice(0, 64)) put(name, person, 1024 * 1024)
      const refused = await send(REPORT, person)
      expect([refused.status, refused.body.code]).to.deep.equal([429, 'too-many-reports'])
      expect(refused.headers, 'waiting does not help').to.not.have.property('retry-after')
      expect((await send(REPORT)).status).to.equal(201)
    })

    it('returns 429 to whoever already has a hundred', async () => {
      const person = crypto.randomUUID()
      for (const name of HELD) put(name, person, 0)
      const refused = await send(REPORT, person)
      expect([refused.status, refused.body.code]).to.deep.equal([429, 'too-many-reports'])
      expect(refused.headers, 'waiting does not help').to.not.have.property('retry-after')
    })

    it('returns 429 to everybody, whoever sent them', async () => {
      for (const name of HELD) put(name, crypto.randomUUID(), 1_300_000)
      const attachments = [text('x'.repeat(300 * 1024))]
      expect((await send({ ...REPORT, attachments })).status).to.equal(429)
    })
  })

  const long = 'x'.repeat(300 * 1024)
  const refusals: [string, object, string][] = [
    ['a blank title', { title: ' ' }, 'bad-request'],
    ['a description of 16,385 characters', { description: 'x'.repeat(16_385) }, 'bad-request'],
    ['an unknown field', { nothing: 1 }, 'MODEL_BINDING_FAILED'],
    ['a text declared as an image', { attachments: [{ ...text('x'), mediaType: 'image/png' }] }, 'bad-request'],
    ['an image declared as a text', { attachments: [{ ...text(''), content: PNG }] }, 'bad-request'],
    ['attachments of 600 KiB', { attachments: [text(long), text(long)] }, 'bad-request'],
    ['four attachments', { attachments: [1, 2, 3, 4].map(() => text('x')) }, 'bad-request'],
  ]
  for (const [title, more, code] of refusals) {
    it(`rejects ${title}`, async () => {
      const { status, body } = await send({ ...REPORT, ...more })
      expect([status, body.code]).to.deep.equal([400, code])
    })
  }

  it('requires authentication', async () => {
    expect((await request(facade.app).post('/bug-reports').send(REPORT)).status).to.equal(401)
  })
})
