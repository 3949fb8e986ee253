import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import type { KubeObject } from '../core/object.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import type { CacheHandler } from '../kube/cache.ts'
import { type CachedFunction, type CachedNamespace, Switchboard, type View } from './switchboard.ts'

class CountedView<T extends KubeObject> implements View<T> {
  lists = 0
  readonly objects: T[] = []
  #handler: CacheHandler<T> = () => {}
  list() {
    this.lists += 1
    return [...this.objects]
  }
  subscribe(handler: CacheHandler<T>) {
    this.#handler = handler
    return () => {}
  }
  put(object: T) {
    this.objects.push(object)
    this.#handler({ type: 'added', object })
  }
  remove(object: T) {
    this.objects.splice(this.objects.indexOf(object), 1)
    this.#handler({ type: 'removed', object })
  }
}

const namespaceObject = (name: string) =>
  ({
    metadata: { namespace: 'group', name, uid: name },
    spec: FunctionNamespace.spec.parse({ runtime: 'nodejs' }),
  }) as CachedNamespace
const functionObject = (namespaceName: string) =>
  ({
    metadata: { namespace: 'group', name: `${namespaceName}.one`, uid: namespaceName },
    spec: ServerlessFunction.spec.parse({ namespaceName, functionName: 'one', handler: 'index' }),
  }) as unknown as CachedFunction

describe('Switchboard', () => {
  const start = () => {
    const [functions, namespaces] = [new CountedView<CachedFunction>(), new CountedView<CachedNamespace>()]
    const switchboard = new Switchboard({ functions, namespaces, clock: new ManualClock(), scale: () => {} })
    return { functions, namespaces, switchboard }
  }

  it('serves functions that come before their namespace, and lists them once, not once per namespace', () => {
    const { functions, namespaces, switchboard } = start()
    const names = Array.from({ length: 100 }, (_, index) => `namespace-${index}`)
    for (const name of names) functions.put(functionObject(name))
    for (const name of names) namespaces.put(namespaceObject(name))
    expect(switchboard.functions()).to.have.length(names.length)
    expect(functions.lists).to.equal(1)
  })

  it('serves the remaining functions of a namespace that was recreated', () => {
    const { functions, namespaces, switchboard } = start()
    const [namespace, kept] = [namespaceObject('shop'), functionObject('shop')]
    namespaces.put(namespace)
    functions.put(kept)
    namespaces.remove(namespace)
    expect(switchboard.functions()).to.have.length(0)
    namespaces.put(namespace)
    expect(switchboard.functions()).to.have.length(1)
    namespaces.remove(namespace)
    functions.remove(kept)
    namespaces.put(namespace)
    expect(switchboard.functions()).to.have.length(0)
  })
})
