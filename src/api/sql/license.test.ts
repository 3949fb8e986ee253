import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { postedAtOnce } from '../../../test/worlds/atOnce.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { decodeProductKey, sqlNames } from '../../contracts/sql.ts'
import { groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import type { SecretObject } from '../../core/secretData.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { secret } from '../../kube/builtin.ts'

const NAMESPACE = groupNamespace(B, 'shop')
const PATH = `/boundaries/${B}/resourcegroups/shop/resources/sqlclusters/ledger/license`
const keyOf = (letter: string) => Array.from({ length: 5 }, () => letter.repeat(5)).join('-')

describe('POST /sqlclusters/{name}/license', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.put(
      SqlInstance,
      'ledger',
      { engine: 'MsSql', edition: 'Standard', acceptEula: true, computePlan: 'sql-small' },
      NAMESPACE,
    )
  })
  afterEach(() => server.stop())
  const stored = async (version: number) => {
    const ref = { namespace: NAMESPACE, name: sqlNames('ledger').license }
    return decodeProductKey((await server.client.get<SecretObject>(secret, ref)).data, version)?.key
  }
  /** Delays patches of the instance until all keys are stored or have had time to be, and keeps their order. */
  const meet = (count: number) => {
    let [keys, instances] = [0, 0]
    const patch = server.client.mergePatch.bind(server.client)
    server.client.mergePatch = (async (...given: Parameters<typeof patch>) => {
      if (given[0] === secret) keys += 1
      else {
        const before = instances
        instances += 1
        for (let turn = 0; turn < 200 && keys < count; turn += 1) await setImmediate()
        for (let turn = 0; turn < 20 * before; turn += 1) await setImmediate()
      }
      return patch(...given)
    }) as typeof patch
  }
  const set = (letter: string) => server.ask('post', PATH).send({ productKey: keyOf(letter) })

  for (const former of [0, 1])
    it(`stores the key of each accepted request of four concurrent ones, after ${former} earlier keys`, async () => {
      if (former === 1) await set('Z')
      const letters = ['A', 'B', 'C', 'D']
      const apps = [server.app, await server.another()]
      meet(letters.length)
      const posts = letters.map((letter) => ({ path: PATH, body: { productKey: keyOf(letter) } }))
      const answers = await postedAtOnce(server.client, apps, posts)
      const accepted = letters.filter((_, index) => answers[index]?.status === 200).map(keyOf)
      const ref = { namespace: NAMESPACE, name: 'ledger' }
      const { spec } = await server.client.get<SqlInstance & KubeObject>(SqlInstance.resource, ref)
      expect(spec.licenseVersion).to.equal(former + accepted.length)
      const kept = await Promise.all(accepted.map((_, index) => stored(former + index + 1)))
      expect(kept.sort()).to.deep.equal(accepted.sort())
    })

  it('keeps the key if If-Match does not match', async () => {
    expect((await set('A')).status).to.equal(200)
    const other = await server
      .ask('post', PATH)
      .set('if-match', '"1-1-zzzzzzzz"')
      .send({ productKey: keyOf('B') })
    expect(other.status).to.equal(409)
    expect([await stored(1), await stored(2)]).to.deep.equal([keyOf('A'), undefined])
  })
})
