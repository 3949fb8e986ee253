import { expect } from 'chai'
import {
  buildJweSecret,
  decodeJwe,
  decodeNewestValue,
  encodeJwe,
  encodeNewestValue,
  valueSelector,
} from './valueSecret.ts'

const entry = {
  apiVersion: 'vaults.freehold.dev/v1alpha1',
  kind: 'VaultEntry',
  metadata: { name: 'safe.token', namespace: 'n', uid: 'u', annotations: { 'freehold.dev/incarnation': 'first' } },
}
const owner = buildJweSecret(entry, 2, 'value', 'v', 'jwe').metadata.labels?.['freehold.dev/owner-name'] ?? ''

describe('buildJweSecret', () => {
  it('builds a value that never changes and is removed with its entry', () => {
    expect(buildJweSecret(entry, 2, 'value', 'v', 'jwe')).to.deep.equal({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'freehold.dev/vault-value',
      immutable: true,
      metadata: {
        name: 'v',
        namespace: 'n',
        labels: {
          'app.kubernetes.io/managed-by': 'freehold-vaults',
          'freehold.dev/owner-kind': 'VaultEntry',
          'freehold.dev/owner-name': owner,
          'freehold.dev/life': '2',
        },
        annotations: { 'freehold.dev/incarnation-of-owner': 'first' },
        ownerReferences: [
          {
            apiVersion: 'vaults.freehold.dev/v1alpha1',
            kind: 'VaultEntry',
            name: 'safe.token',
            uid: 'u',
            controller: false,
            blockOwnerDeletion: false,
          },
        ],
      },
      data: { jwe: Buffer.from('jwe').toString('base64') },
    })
  })

  it('builds a key that can be wrapped again', () => {
    const key = buildJweSecret(entry, 2, 'key', 'k', 'jwe')
    expect(key).to.include({ type: 'freehold.dev/vault-key' }).and.not.have.any.keys('immutable')
    expect(decodeJwe(encodeJwe('jwe'))).to.equal('jwe')
    expect(decodeNewestValue(encodeNewestValue('jwe'))).to.equal('jwe')
    expect([decodeJwe(encodeNewestValue('jwe')), decodeNewestValue(encodeJwe('jwe'))]).to.deep.equal([
      undefined,
      undefined,
    ])
  })

  it('names no namespace and no incarnation for an entry without them', () => {
    const { metadata } = buildJweSecret({ ...entry, metadata: { name: 'safe.token', uid: 'u' } }, 2, 'key', 'k', 'jwe')
    expect(metadata).to.not.have.any.keys('namespace')
    expect(metadata.annotations).to.deep.equal({ 'freehold.dev/incarnation-of-owner': '' })
  })
})

describe('valueSelector', () => {
  it('selects the Secrets of one life, or of all', () => {
    const all = `freehold.dev/owner-kind=VaultEntry,freehold.dev/owner-name=${owner}`
    expect(valueSelector('safe.token', 2)).to.equal(`${all},freehold.dev/life=2`)
    expect(valueSelector('safe.token')).to.equal(all)
    expect(valueSelector('safe.other')).to.not.equal(all)
  })
})
