import { expect } from 'chai'
import { linkerFlags, toolLockOf } from './modules.ts'

const goMod = 'module x\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n'

describe('toolLockOf', () => {
  it('returns the versions of Kubernetes and Go', () => {
    const lock = toolLockOf([goMod, 'sums'])
    expect(lock).to.include({ kubernetesVersion: 'v1.36.3', goVersion: '1.26.0' })
    expect(lock.cacheKey).to.match(/^v1\.36\.3-[0-9a-f]{16}$/)
  })

  it('returns another cache key for changed files and for text moved between files', () => {
    const texts = [
      [goMod, 'a', 'b'],
      [goMod, 'a', 'c'],
      [goMod, 'ab', ''],
      [`${goMod}a`, '', 'b'],
    ]
    expect(new Set(texts.map((files) => toolLockOf(files).cacheKey)).size).to.equal(texts.length)
  })

  it('throws without a version of Kubernetes', () => {
    expect(() => toolLockOf(['module x\n\ngo 1.26.0\n'])).to.throw('tools/controlplane/go.mod')
  })

  it('is used by linkerFlags with the version of Kubernetes', () => {
    expect(linkerFlags('v1.36.3')).to.equal(
      '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36',
    )
  })
})
