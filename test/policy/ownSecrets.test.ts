import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { FUNCTION_ROUTE_PREFIX, functionCertificateName, KEY_DIGEST_SECRET } from '../../src/contracts/functions.ts'
import { operatorSystemRights } from '../../src/controllers/index.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'

const PLATFORM = new URL('../../deploy/helm/freehold/templates/platform.yaml', import.meta.url)

describe('ValidatingAdmissionPolicy freehold-own-secrets', () => {
  const policy = readFileSync(PLATFORM, 'utf8')
    .split('\n---\n')
    .find((text) => text.includes('kind: ValidatingAdmissionPolicy\n') && text.includes('name: freehold-own-secrets'))
    ?.replace(/\s+/g, ' ')

  it('is needed because the controllers may create any Secret', () => {
    const made = operatorSystemRights().filter(
      ({ resource, verbs, resourceNames }) =>
        resource.plural === 'secrets' && verbs.includes('create') && resourceNames === undefined,
    )
    expect(made).not.to.deep.equal([])
  })

  it('selects the system namespace only', () => {
    expect(policy).to.include(`namespaceSelector: matchLabels: kubernetes.io/metadata.name: ${SYSTEM_NAMESPACE}`)
  })

  it('allows Secrets of managed identities, and the creation of the digest key of functions', () => {
    expect(policy).to.include("== 'ManagedIdentity'")
    expect(policy).to.include(`(request.operation == 'CREATE' && object.metadata.name == '${KEY_DIGEST_SECRET}')`)
  })

  it('allows the deletion of Secrets that cert-manager keeps for function namespaces', () => {
    const name = functionCertificateName('shop', 'calls', 'calls.example.net')
    expect(name.startsWith(FUNCTION_ROUTE_PREFIX)).to.equal(true)
    expect(policy).to.include(
      `(request.operation == 'DELETE' && oldObject.metadata.name.startsWith('${FUNCTION_ROUTE_PREFIX}') && oldObject.metadata.?annotations[?'cert-manager.io/certificate-name'].orValue('') == oldObject.metadata.name)`,
    )
  })
})
