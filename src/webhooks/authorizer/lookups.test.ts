import { expect } from 'chai'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { pod } from '../../kube/builtin.ts'
import { podOwners } from './lookups.ts'

describe('podOwners', () => {
  it('returns the vaults and the identity that the containers of an app receive', () => {
    const labels = { [OWNER_KIND_LABEL]: PlatformApp.kind, [OWNER_NAME_LABEL]: 'shop' }
    const env = [{ name: 'TOKEN', secret: { vaultName: 'safe', secretName: 'Token' } }]
    const objects: Record<string, object> = {
      [pod.plural]: { metadata: { labels } },
      [PlatformApp.plural]: { spec: { env, managedIdentity: true } },
    }
    const caches = {
      get: <T extends KubeObject>({ plural }: { plural: string }) => ({
        get: () => objects[plural] as T,
        subscribe: () => () => {},
      }),
    }
    expect(podOwners(caches)('home', 'shop-1')).to.deep.equal({
      kind: PlatformApp.kind,
      name: 'shop',
      referencedRights: [
        { action: 'secretvault/readSecrets', collection: 'secretvaults', name: 'safe' },
        { action: 'managedidentities/readSecrets' },
      ],
    })
  })
})
