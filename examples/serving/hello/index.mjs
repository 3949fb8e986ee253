export default (request) => new Response(`Hello, ${new URL(request.url).searchParams.get('name') ?? 'world'}\n`)
