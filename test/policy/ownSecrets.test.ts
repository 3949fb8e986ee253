import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { FUNCTION_ROUTE_PREFIX, functionCertificateName, KEY_DIGEST_SECRET } from '../../src/contracts/functions.ts'
import { operatorSystemRights } from '../../src/controllers/index.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'

const PLATFORM = new URL('../../deploy/helm/freehold/templates/platform.yaml', import.meta.url)

describe('the Secrets of the platform that the controllers write', () => {
  const policy = readFileSync(PLATFORM, 'utf8')
    .split('\n---\n')
    .find((text) => text.includes('kind: ValidatingAdmissionPolicy\n') && text.includes('name: freehold-own-secrets'))
    ?.replace(/\s+/g, ' ')

  it('are made with a right to make Secrets, which cannot be confined to a name', () => {
    const made = operatorSystemRights().filter(
      ({ resource, verbs, resourceNames }) =>
        resource.plural === 'secrets' && verbs.includes('create') && resourceNames === undefined,
    )
    expect(made).not.to.deep.equal([])
  })

  it('are looked at in its own namespace alone', () => {
    expect(policy).to.include(`namespaceSelector: matchLabels: kubernetes.io/metadata.name: ${SYSTEM_NAMESPACE}`)
  })

  it('are those of managed identities, and what keys of functions are digested with, which is only made', () => {
    expect(policy).to.include("== 'ManagedIdentity'")
    expect(policy).to.include(`(request.operation == 'CREATE' && object.metadata.name == '${KEY_DIGEST_SECRET}')`)
  })

  it('are what cert-manager kept of function namespaces, which is only deleted', () => {
    const name = functionCertificateName('shop', 'calls', 'calls.example.net')
    expect(name.startsWith(FUNCTION_ROUTE_PREFIX)).to.equal(true)
    expect(policy).to.include(
      `(request.operation == 'DELETE' && oldObject.metadata.name.startsWith('${FUNCTION_ROUTE_PREFIX}') && oldObject.metadata.?annotations[?'cert-manager.io/certificate-name'].orValue('') == oldObject.metadata.name)`,
    )
  })
})
