import { expect } from 'chai'
import { ControllerBench } from '../../test/worlds/controllers.ts'
import { INCARNATION_ANNOTATION, PRINCIPAL_INCARNATIONS_ANNOTATION } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { AnyKind } from '../crds/define.ts'
import { PlatformClient, PlatformUser } from '../crds/identity.ts'
import { PrincipalGroup } from '../crds/rbac.ts'
import { groupController } from './principals.ts'

const GROUP = '33333333-3333-4333-8333-333333333333'
const MEMBER = '11111111-1111-4111-8111-111111111111'
const namespace = SYSTEM_NAMESPACE

describe('PrincipalGroup controller', () => {
  let bench: ControllerBench
  beforeEach(() => {
    bench = new ControllerBench([groupController])
  })
  afterEach(() => bench.stop())

  const group = (name: string, memberIds: string[]) =>
    bench.seed(PrincipalGroup, name, { displayName: 'Staff', description: '', memberIds }, { namespace })
  const meant = async () =>
    (await bench.find(PrincipalGroup.resource, GROUP, namespace))?.metadata.annotations?.[
      PRINCIPAL_INCARNATIONS_ANNOTATION
    ]
  const comes: readonly [sentence: string, kind: AnyKind, come: () => void][] = [
    [
      'a service account',
      PlatformClient,
      () => bench.seed(PlatformClient, MEMBER, { displayName: 'CI', secretName: 's' }, { namespace }),
    ],
    ['a person', PlatformUser, () => bench.seed(PlatformUser, MEMBER, { userName: 'ada' }, { namespace })],
    ['another group', PrincipalGroup, () => group(MEMBER, [])],
  ]
  for (const [sentence, kind, come] of comes)
    it(`records the first incarnation of a member that is created later: ${sentence}`, async () => {
      group(GROUP, [MEMBER])
      await bench.start()
      expect(await meant()).to.equal(undefined)
      come()
      await bench.rest()
      const found = await bench.find(kind.resource, MEMBER, namespace)
      const life = found?.metadata.annotations?.[INCARNATION_ANNOTATION]
      expect(life).to.match(/\S/)
      expect(await meant()).to.equal(JSON.stringify({ [MEMBER]: life }))
      await bench.client.remove(kind.resource, { namespace, name: MEMBER })
      come()
      await bench.rest()
      expect(await meant(), 'whoever comes after is another').to.equal(JSON.stringify({ [MEMBER]: life }))
    })
})
