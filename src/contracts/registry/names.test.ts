import { expect } from 'chai'
import { groupNamespace } from '../../core/names.ts'
import { pullPolicyOf } from './names.ts'

const [HERE, ELSEWHERE] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']
const NAMESPACE = groupNamespace(HERE, 'shop')
const DIGEST = `@sha256:${'a'.repeat(64)}`

describe('pullPolicyOf', () => {
  const cases: [sentence: string, image: string, policy: 'Always' | undefined][] = [
    ['an image of its own group', `own.test/${HERE}/shop/apps/web:1`, undefined],
    ['a digest of its own group', `own.test/${HERE}/shop/apps/web${DIGEST}`, undefined],
    ['an image of another boundary', `own.test/${ELSEWHERE}/shop/apps/web:1`, 'Always'],
    ['a digest of another boundary', `own.test/${ELSEWHERE}/shop/apps/web${DIGEST}`, 'Always'],
    ['an image of another group', `own.test/${HERE}/other/apps/web:1`, 'Always'],
    ['an image in the registry of the platform that is of no resource', 'own.test/tool:1', 'Always'],
    ['an image of another registry', 'docker.io/library/python:3', undefined],
    ['a host that only starts with the own one', `own.test.evil/${ELSEWHERE}/shop/apps/web:1`, undefined],
  ]
  for (const [sentence, image, policy] of cases)
    it(`returns ${policy} for ${sentence}`, () => {
      expect(pullPolicyOf(image, 'own.test', NAMESPACE)).to.equal(policy)
    })

  it('returns undefined without a registry of the platform', () => {
    expect(pullPolicyOf(`own.test/${ELSEWHERE}/shop/apps/web:1`, undefined, NAMESPACE)).to.equal(undefined)
  })
})
