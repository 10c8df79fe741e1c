def seed(plan, say): return unseeded()
def unseeded(): return {"admin": {"password": "adminpw", "project": "admin"}}
