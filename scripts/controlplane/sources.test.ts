import { expect } from 'chai'
import { PROGRAMS } from './modules.ts'
import { cacheFolder, chooseSource, type SourceFacts } from './sources.ts'

const all = (folder: string) => Object.fromEntries(PROGRAMS.map(({ name }) => [name, `${folder}/${name}`]))
const names = PROGRAMS.map(({ name }) => name)

describe('chooseSource and cacheFolder', () => {
  const cases: { title: string; facts: SourceFacts; source: string; build?: string[] }[] = [
    {
      title: 'choose the given kubeconfig first',
      facts: { kubeconfig: '/k', assets: all('/a'), cache: all('/c') },
      source: 'kubeconfig',
    },
    {
      title: 'choose KUBEBUILDER_ASSETS if it is complete',
      facts: { assets: all('/a'), cache: all('/c') },
      source: 'kubebuilder-assets',
    },
    { title: 'choose a complete cache', facts: { assets: {}, cache: all('/c') }, source: 'cache' },
    {
      title: 'build everything if nothing exists',
      facts: { assets: {}, cache: {} },
      source: 'go-build',
      build: names,
    },
    {
      title: 'build only what the cache lacks',
      facts: { assets: {}, cache: Object.fromEntries(Object.entries(all('/c')).filter(([name]) => name !== 'kwok')) },
      source: 'go-build',
      build: ['kwok'],
    },
    {
      title: 'combine KUBEBUILDER_ASSETS with the cache',
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

  it('prefer a program of KUBEBUILDER_ASSETS to the cached one', () => {
    const plan = chooseSource({ assets: { etcd: '/a/etcd' }, cache: all('/c') })
    expect(plan.source !== 'kubeconfig' && plan.found.etcd).to.equal('/a/etcd')
    expect(plan.source !== 'kubeconfig' && plan.found.kwok).to.equal('/c/kwok')
  })

  it('use XDG_CACHE_HOME, or the home folder if it is empty', () => {
    const lock = { kubernetesVersion: 'v1', goVersion: '1', cacheKey: 'v1-abc' }
    expect(cacheFolder(lock, { XDG_CACHE_HOME: '/x' })).to.equal('/x/freehold/v1-abc')
    expect(cacheFolder(lock, { XDG_CACHE_HOME: '' })).to.match(/\/\.cache\/freehold\/v1-abc$/)
  })
})
