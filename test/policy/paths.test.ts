import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { SERVED_ROUTES } from '../../src/api/index.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** A path with nothing but its shape: names of parameters and values that stand for them are the same. */
const shapeOf = (path: string) =>
  path
    .replace(/\?.*$/, '')
    .replaceAll('{RG}', '/boundaries/{}/resourcegroups/{}/resources')
    .replaceAll('{B}', '/boundaries/{}')
    .replaceAll(/\{\w*\}|<[^>/]*>/g, '{}')

const known = SERVED_ROUTES.map(({ method, path }) => `${method} ${shapeOf(path)}`)

/** What a page writes of a request: `GET {RG}/jobs/{jobName}`. Those that begin with dots leave out what stands above. */
function requestsIn(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/```[\s\S]*?```/g, '')
  return [...text.matchAll(/`(GET|POST|PUT|PATCH|DELETE) ([/{][^` ]*)`/g)].map(
    ([, method, path = '']) => `${method} ${shapeOf(path)}`,
  )
}

/** A word where the table has a parameter is a value of it, and a page may speak of all kinds at once. */
function isServed(request: string): boolean {
  const words = request.split('/')
  return known.some((row) => {
    const own = row.split('/')
    return (
      own.length === words.length && own.every((part, at) => part === words[at] || part === '{}' || words[at] === '{}')
    )
  })
}

describe('requests that pages name', () => {
  it('are in the table of routes', () => {
    const pages = globSync('docs/**/*.md', { cwd: ROOT }).filter((path) => !path.includes('adr/'))
    const all = pages.flatMap((page) => requestsIn(page).map((request) => ({ page, request })))
    expect(all.length).to.be.greaterThan(100)
    // Pages that name a long beginning once begin their requests with that name.
    const whole = all.filter(({ request }) => / \//.test(request))
    const wrong = whole.filter(({ request }) => !isServed(request)).map(({ page, request }) => `${page}: ${request}`)
    expect(wrong).to.deep.equal([])
  })
})
