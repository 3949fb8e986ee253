import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { DeploymentSource } from '../../crds/sources.ts'

describe('GET /sources/{type}/{id}/health', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    shop = await startShop()
  })
  after(() => shop.stop())

  for (const [title, spec, expected] of [
    ['at an address that the platform does not call', { baseUrl: 'https://127.0.0.1' }, ['Unhealthy', 'Unknown']],
    ['whose key is refused over ssh', { provider: 'Git', baseUrl: 'ssh://git.test/site' }, ['Healthy', 'Unhealthy']],
    ['whose credential is refused', { baseUrl: 'https://gitlab.test' }, ['Healthy', 'Unhealthy']],
  ] as const) {
    it(`returns all four checks of a source ${title}`, async () => {
      const [id, namespace] = [randomUUID(), boundaryNamespace(BOUNDARY)]
      const whole = { provider: 'GitLab', displayName: 'Ours', ...spec }
      shop.put(DeploymentSource, id, whole, namespace)
      const type = whole.provider.toLowerCase()
      const { status, body } = await shop.ask('get', `/boundaries/${BOUNDARY}/sources/${type}/${id}/health`)
      expect(status, JSON.stringify(body)).to.equal(200)
      const checks = body.checks as { name: string; status: string }[]
      expect(checks.map(({ name }) => name)).to.deep.equal(['Reachable', 'Credential', 'Permissions', 'Webhook'])
      expect(checks.slice(0, 2).map(({ status }) => status)).to.deep.equal(expected)
    })
  }
})
