-- POSTs one JSON body.
function init(args)
  wrk.method, wrk.body = "POST", args[1]
  wrk.headers["content-type"] = "application/json"
  prepared = wrk.format()
end

function request()
  return prepared
end
