import { expect } from 'chai'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { BugReport } from '../../src/crds/bugreports.ts'
import { secret } from '../../src/kube/builtin.ts'
import { call, expectCall, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'

type Report = { id: string; number: number; status: string; createdAt: string }

describe('POST /bug-reports', () => {
  const canary = uniqueName('canary')
  const content = Buffer.from(`secret: ${canary}\nno secret`).toString('base64')
  const body = {
    title: 'The list is empty',
    description: `I sent password=${canary} and saw nothing.`,
    severity: 'High',
    attachments: [{ fileName: 'page.txt', mediaType: 'text/plain', content }],
  }

  it('stores a report for administrators without its secrets, and takes ten an hour from a person', async () => {
    const admin = await administrator()
    const person = await makeCaller()
    const tenant = await clientWithToken(person.token)
    try {
      await until('the API server takes tokens', async () => (await tenant.request({ path: '/api' })).status === 200)
      const { body: report } = await expectCall<Report>(201, 'POST', '/bug-reports', body, person)
      expect(report.status).to.equal('Open')
      const ref = { namespace: SYSTEM_NAMESPACE, name: `bug-${report.number}` }
      const stored = (await admin.get(BugReport.resource, ref)) as unknown as BugReport
      expect(stored.spec.description).to.equal('I sent password=*** and saw nothing.')
      const kept = await admin.get(secret, { ...ref, name: stored.spec.attachments[0]?.secretName ?? '' })
      const { blob = '' } = (kept as { data?: Record<string, string> }).data ?? {}
      expect(Buffer.from(blob, 'base64').toString()).to.equal('secret: ***\nno secret')
      const others = await Promise.all(
        Array.from({ length: 9 }, () => expectCall<Report>(201, 'POST', '/bug-reports', body, person)),
      )
      const numbers = [report, ...others.map((one) => one.body)].map(({ number }) => number)
      expect(new Set(numbers).size).to.equal(10)
      const refused = await call('POST', '/bug-reports', body, { ...person, isPatient: false })
      expect([refused.status, refused.body.code]).to.deep.equal([429, 'too-many-reports'])
      const read = await tenant.get(BugReport.resource, ref).catch((error) => error.reason)
      expect(read).to.equal('Forbidden')
    } finally {
      await Promise.all([admin.close(), tenant.close()])
    }
  })

  it('returns 400 for a file of another type than it says, and 401 without a token', async () => {
    const attachments = [{ fileName: 'a.png', mediaType: 'image/png', content }]
    const refused = await expectCall<{ code: string }>(400, 'POST', '/bug-reports', { ...body, attachments })
    expect(refused.body.code).to.equal('bad-request')
    await expectCall(400, 'POST', '/bug-reports', { title: 'x' })
    await expectCall(401, 'POST', '/bug-reports', body, { token: null })
  })
})
