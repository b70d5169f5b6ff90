import streamlit as st

st.title("Gaussians")
