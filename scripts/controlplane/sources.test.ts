import { expect } from 'chai'
import { PROGRAMS } from './modules.ts'
import { cacheFolder, chooseSource, type SourceFacts } from './sources.ts'

const all = (folder: string) => Object.fromEntries(PROGRAMS.map(({ name }) => [name, `${folder}/${name}`]))
const names = PROGRAMS.map(({ name }) => name)

describe('the source of the control plane', () => {
  const cases: { title: string; facts: SourceFacts; source: string; build?: string[] }[] = [
    {
      title: 'is the named cluster, whatever else there is',
      facts: { kubeconfig: '/k', assets: all('/a'), cache: all('/c') },
      source: 'kubeconfig',
    },
    {
      title: 'is KUBEBUILDER_ASSETS when that has everything',
      facts: { assets: all('/a'), cache: all('/c') },
      source: 'kubebuilder-assets',
    },
    { title: 'is the cache when there is one', facts: { assets: {}, cache: all('/c') }, source: 'cache' },
    {
      title: 'is a build of everything when there is nothing',
      facts: { assets: {}, cache: {} },
      source: 'go-build',
      build: names,
    },
    {
      title: 'builds only what an interrupted build left out',
      facts: { assets: {}, cache: Object.fromEntries(Object.entries(all('/c')).filter(([name]) => name !== 'kwok')) },
      source: 'go-build',
      build: ['kwok'],
    },
    {
      title: 'is mixed when KUBEBUILDER_ASSETS lacks what the cache has',
      facts: {
        assets: { etcd: '/a/etcd', 'kube-apiserver': '/a/kube-apiserver', kubectl: '/a/kubectl' },
        cache: all('/c'),
      },
      source: 'mixed',
    },
  ]
  for (const { title, facts, source, build = [] } of cases) {
    it(title, () => {
      const plan = chooseSource(facts)
      expect(plan.source).to.equal(source)
      if (plan.source !== 'kubeconfig') expect(plan.build).to.deep.equal(build)
    })
  }

  it('prefers a given program to the cached one', () => {
    const plan = chooseSource({ assets: { etcd: '/a/etcd' }, cache: all('/c') })
    expect(plan.source !== 'kubeconfig' && plan.found.etcd).to.equal('/a/etcd')
    expect(plan.source !== 'kubeconfig' && plan.found.kwok).to.equal('/c/kwok')
  })

  it('is cached under XDG_CACHE_HOME, and under the home folder when that is empty', () => {
    const lock = { kubernetesVersion: 'v1', goVersion: '1', cacheKey: 'v1-abc' }
    expect(cacheFolder(lock, { XDG_CACHE_HOME: '/x' })).to.equal('/x/freehold/v1-abc')
    expect(cacheFolder(lock, { XDG_CACHE_HOME: '' })).to.match(/\/\.cache\/freehold\/v1-abc$/)
  })
})
